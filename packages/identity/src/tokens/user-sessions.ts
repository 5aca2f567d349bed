import { z } from 'zod';
import { parseRecord } from '../records/record.ts';
import {
  credentialId,
  endedSessionKey,
  endedSessionSeconds,
  grantKey,
  userGrantsKey,
  userSessionsKey,
} from '../secrets/credential-keys.ts';
import type { SecretDependencies } from '../secrets/seal.ts';
import type { FindLiveHolder } from './access-tokens.ts';
import { destroyGrant } from './revocations.ts';

const sessionUse = z.object({
  /** Epoch seconds. */
  at: z.number(),
  /** The address group. */
  from: z.string(),
  /** Undefined if the User-Agent header names none that is known. */
  browser: z.string().optional(),
  system: z.string().optional(),
});

/** When and from where a session was last used. */
export type SessionUse = Readonly<z.infer<typeof sessionUse>>;

const storedSession = z.object({
  uid: z.string(),
  accountId: z.string(),
  loginTs: z.number(),
  exp: z.number(),
  /** Sessions of earlier releases have none. */
  lastUse: sessionUse.optional().catch(undefined),
  authorizations: z
    .record(
      z.string(),
      z.object({ sid: z.string().optional(), grantId: z.string().optional() }).catch({}),
    )
    .default({}),
});

const storedScopes = z.object({
  openid: z.object({ scope: z.string().default('') }).default({ scope: '' }),
  resources: z.record(z.string(), z.string()).default({}),
});

const storedGrant = storedScopes.extend({
  accountId: z.string(),
  clientId: z.string(),
  iat: z.number(),
  exp: z.number(),
  rejected: storedScopes.optional(),
});

function scopesIn({ openid, resources }: z.infer<typeof storedScopes>): readonly string[] {
  return [openid.scope, ...Object.values(resources)].flatMap((scope) => scope.split(' '));
}

/** Reads what the authorization server stores about a user. Damaged records are omitted. */
export function createUserSessions({
  store,
  sealer,
  credentialHash,
  findLiveHolder,
  now,
}: SecretDependencies & { readonly findLiveHolder: FindLiveHolder }) {
  const isLive = async (credential: Parameters<FindLiveHolder>[0]) =>
    (await findLiveHolder(credential)) !== undefined;

  async function openSession(userId: string, key: string) {
    const text = sealer.tryOpen((await store.get(key)) ?? '', key);
    const session = parseRecord(storedSession, text);
    return session?.accountId === userId && (await isLive({ issuedAt: session.loginTs, userId }))
      ? { ...session, key, id: sessionIdOf(key) }
      : undefined;
  }

  async function openSessions(userId: string) {
    const keys = await store.members(userSessionsKey(userId));
    const found = await Promise.all(keys.map((key) => openSession(userId, key)));
    return found.filter((session) => session !== undefined);
  }

  async function readGrant(userId: string, id: string) {
    const grant = parseRecord(storedGrant, await store.get(grantKey(id)));
    if (
      grant?.accountId !== userId ||
      !(await isLive({ issuedAt: grant.iat, userId, clientId: grant.clientId }))
    ) {
      return [];
    }
    const { clientId, iat: since, exp: expiresAt, rejected } = grant;
    const lost = new Set(['', ...(rejected ? scopesIn(rejected) : [])]);
    const scope = scopesIn(grant).filter((each) => !lost.has(each));
    return [{ id, clientId, since, expiresAt, scope: scope.join(' ') }];
  }

  const applicationsOf = ({ authorizations }: z.infer<typeof storedSession>) =>
    Object.entries(authorizations).map(([clientId, { sid }]) => ({ clientId, sid }));

  return {
    /**
     * The browsers in which a user is signed in, and the applications that the user signed in to from
     * there. Newest first, without ended and revoked ones. Times are in epoch seconds.
     */
    async sessions(userId: string) {
      return (await openSessions(userId))
        .map(({ id, loginTs: signedInAt, exp: expiresAt, lastUse, authorizations }) => {
          return { id, signedInAt, expiresAt, lastUse, clientIds: Object.keys(authorizations) };
        })
        .sort((a, b) => b.signedInAt - a.signedInAt);
    },
    /** The applications in each of these browsers, with the id that they know the session by. */
    async applications(userId: string) {
      return (await openSessions(userId)).flatMap(applicationsOf);
    },
    /**
     * Ends one of these sessions with its grants.
     *
     * @returns the applications in it, which are notified. Undefined: there is no such session
     */
    async end(userId: string, id: string) {
      const found = (await openSessions(userId)).find((session) => session.id === id);
      if (found === undefined) {
        return undefined;
      }
      const endedKey = endedSessionKey(credentialHash(found.uid));
      await store.set(endedKey, '', endedSessionSeconds, { revokes: true });
      for (const { grantId } of Object.values(found.authorizations)) {
        await (grantId && destroyGrant(store, grantId, now()));
      }
      await store.delete([found.key]);
      return applicationsOf(found);
    },
    /** The access of applications to the data of a user: one for each browser and each device. */
    async grants(userId: string) {
      const ids = await store.members(userGrantsKey(userId));
      const found = await Promise.all(ids.map((id) => readGrant(userId, id)));
      return found.flat().sort((a, b) => b.since - a.since);
    },
  };
}

/** Names a session. It cannot be used as a credential. */
function sessionIdOf(key: string): string {
  return credentialId(key.split(':').at(-1) ?? '');
}
