/**
 * The sessions of operators. The browser has a random id, and the store its record, sealed, at the
 * hash of the id. Each use verifies the access token, so a session ends with the token, the user,
 * the role or the right within 50 ms.
 *
 * A session ends 15 minutes after its last use and 8 hours after its sign-in. Requests of the script
 * are no use.
 */
import { randomBytes } from 'node:crypto';
import { type Identity, type OperatorAccess, withRecordLock } from '@gatehouse/identity';
import { StoreFullError } from '@gatehouse/store';
import { z } from 'zod';
import { type Issuer, IssuerRejectionError, type Tokens } from './issuer.ts';

export const MINUTE = 60_000;
const IDLE_MILLISECONDS = 15 * MINUTE;
export const SESSION_SECONDS = 8 * 60 * 60;
/** A record is written at most once in this time. */
const USE_MILLISECONDS = MINUTE / 2;
/** A token that expires during the request is refreshed first. */
const MARGIN_MILLISECONDS = 5_000;

/** Times are epoch milliseconds. */
const storedSession = z.object({
  accessToken: z.string(),
  expiresAt: z.number(),
  refreshToken: z.string().optional(),
  idToken: z.string().optional(),
  signedInAt: z.number(),
  usedAt: z.number(),
});

type StoredSession = Readonly<z.infer<typeof storedSession>>;

export interface Session {
  /** Of its record. */
  readonly key: string;
  readonly access: OperatorAccess & { readonly userId: string };
  readonly userName: string;
  readonly idToken: string | undefined;
  /** Belongs to this session and this browser. */
  readonly formToken: string;
}

export type Sessions = ReturnType<typeof createSessions>;

interface SessionDependencies {
  readonly identity: Identity;
  readonly issuer: Pick<Issuer, 'refresh' | 'revoke'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export function createSessions(dependencies: SessionDependencies) {
  const { identity, issuer, now } = dependencies;
  const { store, credentialHash } = identity;
  const keyOf = (id: string) => `console-session:${credentialHash(id)}`;

  const records = createRecords(dependencies);
  const { read, noteUse } = records;
  const refresh = createRefresh(dependencies, records);

  async function verify(accessToken: string) {
    const access = await identity.verifyOperatorToken(accessToken, 'operator:read');
    return 'refused' in access || access.userId === undefined
      ? undefined
      : { ...access, userId: access.userId };
  }

  return {
    verify,

    /** @returns the id for the cookie */
    async create(tokens: Tokens): Promise<string> {
      const id = randomBytes(32).toString('base64url');
      const session = { ...tokens, signedInAt: now(), usedAt: now() };
      await store.set(keyOf(id), records.seal(session, keyOf(id)), SESSION_SECONDS);
      return id;
    },

    /**
     * @param isUse the operator asks, not the script of a page
     * @returns undefined if the session has ended. Its record is removed
     * @throws StoreUnavailableError, IssuerUnavailableError
     */
    async find(id: string, isUse: boolean): Promise<Session | undefined> {
      const key = keyOf(id);
      let found = await read(key);
      if (found !== undefined && found.session.expiresAt - MARGIN_MILLISECONDS <= now()) {
        found = await refresh(key, found.session.accessToken);
      }
      const access = found && (await verify(found.session.accessToken));
      if (found === undefined || access === undefined) {
        await store.delete([key]);
        return undefined;
      }
      if (isUse) {
        await noteUse(key, found);
      }
      const formToken = credentialHash(`console-form:${id}`);
      const user = await identity.users.find(access.userId);
      const userName = user?.username ?? access.userId;
      return { key, access, userName, idToken: found.session.idToken, formToken };
    },

    /** Its tokens end by themselves: their only copy was in the record. */
    forget: (key: string): Promise<void> => store.delete([key]),

    /** Ends the session and its tokens, also if the authorization server does not answer. */
    async end(key: string): Promise<void> {
      const found = await read(key);
      await store.delete([key]);
      const { refreshToken, accessToken } = found?.session ?? {};
      const token = refreshToken ?? accessToken;
      if (token !== undefined) {
        await issuer.revoke(token).catch(() => undefined);
      }
    },
  };
}

interface Found {
  readonly sealed: string;
  readonly session: StoredSession;
}

/** Every change replaces the record that it read, so that none is lost. */
function createRecords({ identity: { store, sealer }, now }: SessionDependencies) {
  const seal = (session: StoredSession, key: string) => sealer.seal(JSON.stringify(session), key);

  async function read(key: string): Promise<Found | undefined> {
    const sealed = await store.get(key);
    const text = sealed && sealer.tryOpen(sealed, key);
    const session = text ? storedSession.parse(JSON.parse(text)) : undefined;
    const isLive =
      session !== undefined &&
      now() - session.usedAt < IDLE_MILLISECONDS &&
      now() - session.signedInAt < SESSION_SECONDS * 1000;
    return sealed !== undefined && isLive ? { sealed, session } : undefined;
  }

  /** Loses against a concurrent change, which is as recent. A full store serves readers. */
  async function noteUse(key: string, { sealed, session }: Found): Promise<void> {
    if (now() - session.usedAt >= USE_MILLISECONDS) {
      const used = seal({ ...session, usedAt: now() }, key);
      await store.replace(key, sealed, used).catch((error: unknown) => {
        if (!(error instanceof StoreFullError)) {
          throw error;
        }
      });
    }
  }

  return { seal, read, noteUse };
}

function createRefresh(
  { identity: { store }, issuer }: SessionDependencies,
  { seal, read }: ReturnType<typeof createRecords>,
) {
  /** One of concurrent requests refreshes: a refresh token works once. */
  const refresh = (key: string, expired: string): Promise<Found | undefined> =>
    withRecordLock(store, key, async (assertHeld) => {
      const found = await read(key);
      const { accessToken, refreshToken } = found?.session ?? {};
      if (refreshToken === undefined || accessToken !== expired) {
        return refreshToken === undefined ? undefined : found;
      }
      const tokens = await issuer.refresh(refreshToken).catch((error: unknown) => {
        if (error instanceof IssuerRejectionError) {
          return undefined;
        }
        throw error;
      });
      assertHeld();
      return tokens && keepTokens(key, tokens);
    });

  /** Its use can be noted at the same time. @returns undefined if the session has ended */
  async function keepTokens(key: string, tokens: Tokens): Promise<Found | undefined> {
    for (;;) {
      const found = await read(key);
      if (found === undefined) {
        await issuer.revoke(tokens.refreshToken ?? tokens.accessToken);
        return undefined;
      }
      // A reply without one of them keeps it.
      const { idToken = found.session.idToken, ...others } = tokens;
      const refreshToken = others.refreshToken ?? found.session.refreshToken;
      const session = { ...found.session, ...others, idToken, refreshToken };
      const sealed = seal(session, key);
      if (await store.replace(key, found.sealed, sealed)) {
        return { sealed, session };
      }
    }
  }

  return refresh;
}
