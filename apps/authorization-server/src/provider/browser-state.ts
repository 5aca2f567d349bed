import type { Identity, MasterKey, SessionUse } from '@gatehouse/identity';
import { type Adapter, type AdapterPayload, type Configuration, errors } from 'oidc-provider';
import {
  createSealedCookies,
  currentPageRequest,
  type SealedCookies,
} from '../pages/sealed-cookies.ts';
import { addressGroupOf } from '../requests/caller.ts';
import { lifetimes } from '../requests/lifetimes.ts';
import { providerRoutes } from '../requests/routes.ts';
import { describeUserAgent } from '../requests/user-agent.ts';
import { pathOfPlace } from '../upstream/round-trips.ts';
import { isDeviceRoute } from './device-codes.ts';
import { currentContext } from './library.ts';

export function cookieOptions(secureCookies: boolean) {
  return { httpOnly: true, sameSite: 'lax', secure: secureCookies, signed: true } as const;
}

/** The provider's own cookies: names, attributes, and the keys that sign them. */
export function cookieSettings(keys: readonly string[], secure: boolean) {
  const options = cookieOptions(secure);
  // The short-lived cookies have a path, which `__Host-` does not allow.
  const [host, prefix] = secure ? ['__Host-', '__Secure-'] : ['', ''];
  return {
    keys: [...keys],
    names: {
      session: `${host}session`,
      interaction: `${prefix}interaction`,
      resume: `${prefix}resume`,
    },
    long: options,
    short: options,
  } satisfies Configuration['cookies'];
}

export type BrowserState = ReturnType<typeof createBrowserState>;

/** State that the browser keeps for the server, limited to the pages that read it. */
export function createBrowserState(masterKey: MasterKey, secure: boolean) {
  const create = (name: string, pathOf: (id: string) => string) =>
    createSealedCookies({ name, pathOf, masterKey, secure });
  return {
    interactions: create('sign-in', (uid) => `/sign-in/${uid}`),
    /** The username of the last failed attempt of an interaction, for the page that asks again. */
    failedSignIns: create('failed-sign-in', (uid) => `/sign-in/${uid}`),
    /** What the user of an interaction proved so far (sign-in/steps.ts). */
    proofs: create('sign-in-proof', (uid) => `/sign-in/${uid}`),
    /** The challenge of a page with passkeys, by its path (account/passkey-ceremony.ts). */
    passkeyChallenges: create('passkey-challenge', (path) => path),
    /** The way to an upstream provider and back (upstream/round-trips.ts). */
    roundTrips: create('upstream', pathOfPlace),
    sessions: create('device-form', () => providerRoutes.code_verification),
  };
}

/**
 * A browser keeps an expired interaction this long, so that its page starts again, and the mark of a
 * completed one, so that Back leads to the application.
 */
const EXPIRED_SECONDS = 60 * 60;

/**
 * Keeps an interaction in the browser until the user submits a correct password or a decision. From
 * then on it is worth a sign-in, so it moves to the store, where it is used once. Its cookie is
 * worth no more than the GET /authorize that created it. A completed interaction is rejected,
 * because the store remembers its end.
 */
export function keepInteractionsInBrowser(
  stored: Adapter,
  { store, credentialHash, findLiveHolder }: Identity,
  cookies: SealedCookies,
): Adapter {
  const endedKey = (id: string) => `interaction-ended:${credentialHash(id)}`;
  return {
    ...stored,
    async upsert(id: string, payload: AdapterPayload, expiresIn: number) {
      if (payload.result === undefined) {
        cookies.write(id, JSON.stringify(payload), expiresIn + EXPIRED_SECONDS);
        return;
      }
      await stored.upsert(id, payload, expiresIn);
      if ((await store.get(endedKey(id))) !== undefined) {
        await stored.destroy(id);
        throw new errors.SessionNotFound('the interaction was completed before');
      }
      cookies.clear(id);
    },
    async find(id) {
      const record = cookies.read(id);
      if (record === undefined) {
        return stored.find(id);
      }
      const payload = JSON.parse(record) as AdapterPayload;
      if (payload.completed === true) {
        return undefined;
      }
      const holder = await findLiveHolder({ issuedAt: payload.iat ?? 0 });
      return holder === undefined ? undefined : payload;
    },
    async destroy(id) {
      // The store holds and remembers only submitted interactions. Otherwise a client that ignores
      // the path of the cookie could write a record with each request.
      const submitted = await stored.find(id);
      if (submitted === undefined) {
        cookies.clear(id);
        return;
      }
      await store.set(endedKey(id), '', lifetimes.Interaction);
      await stored.destroy(id);
      const { client_id, redirect_uri } = submitted.params ?? {};
      const mark = { completed: true, params: { client_id, redirect_uri } };
      cookies.write(id, JSON.stringify(mark), EXPIRED_SECONDS);
    },
  };
}

/**
 * Keeps sessions without a user out of the store. They hold only the token of the device page's
 * form, so the browser keeps them for that page. On other pages, nothing of them is needed again. The
 * session of a user notes its last use.
 */
export function keepAnonymousSessionsInBrowser(stored: Adapter, cookies: SealedCookies): Adapter {
  return {
    ...stored,
    async upsert(id: string, payload: AdapterPayload, expiresIn: number) {
      const context = currentContext();
      if (payload.accountId !== undefined) {
        await stored.upsert(id, { ...payload, lastUse: lastUse() }, expiresIn);
      } else if (context !== undefined && isDeviceRoute(context)) {
        cookies.write(id, JSON.stringify(payload), expiresIn);
      }
    },
    async find(id) {
      const record = cookies.read(id);
      return record === undefined ? stored.find(id) : (JSON.parse(record) as AdapterPayload);
    },
    async destroy(id) {
      await stored.destroy(id);
      cookies.clear(id);
    },
  };
}

/** The words for the browser and the system are few, so that no header makes a record long. */
function lastUse(): SessionUse | undefined {
  const request = currentPageRequest();
  return (
    request && {
      at: Math.floor(Date.now() / 1000),
      from: addressGroupOf(request),
      ...describeUserAgent(request.get('user-agent')),
    }
  );
}
