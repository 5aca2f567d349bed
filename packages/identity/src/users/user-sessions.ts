import type { Store } from '@gatehouse/store';
import { z } from 'zod';
import { parseRecord } from '../records/record.ts';
import type { Sealer } from '../secrets/seal.ts';
import { grantKey, userGrantsKey, userSessionsKey } from '../tokens/credential-keys.ts';
import type { FindLiveHolder } from '../tokens/live-holder.ts';

/** A browser in which a user is signed in. */
export interface UserSession {
  /** Epoch seconds. */
  readonly signedInAt: number;
  readonly expiresAt: number;
  /** The applications that the user signed in to from this browser. */
  readonly clientIds: readonly string[];
}

/** The access of an application to a user's data: one for each browser and each device. */
export interface UserGrant {
  readonly clientId: string;
  readonly since: number;
  readonly expiresAt: number;
  readonly scope: string;
}

export interface UserSessions {
  /** Newest first. Ended and revoked sessions are omitted. */
  sessions(userId: string): Promise<readonly UserSession[]>;
  grants(userId: string): Promise<readonly UserGrant[]>;
}

const storedSession = z.object({
  accountId: z.string(),
  loginTs: z.number(),
  exp: z.number(),
  authorizations: z.record(z.string(), z.unknown()).default({}),
});

const storedGrant = z.object({
  accountId: z.string(),
  clientId: z.string(),
  iat: z.number(),
  exp: z.number(),
  openid: z.object({ scope: z.string().default('') }).default({ scope: '' }),
});

/** Reads what the authorization server stores about a user. Damaged records are omitted. */
export function createUserSessions({
  store,
  sealer,
  findLiveHolder,
}: {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly findLiveHolder: FindLiveHolder;
}): UserSessions {
  const isLive = async (credential: Parameters<FindLiveHolder>[0]) =>
    (await findLiveHolder(credential)) !== undefined;

  function open(sealed: string | undefined, key: string): string {
    try {
      return sealed === undefined ? '' : sealer.open(sealed, key);
    } catch {
      return '';
    }
  }

  async function readSession(userId: string, key: string): Promise<readonly UserSession[]> {
    const session = parseRecord(storedSession, open(await store.get(key), key));
    if (session?.accountId !== userId || !(await isLive({ issuedAt: session.loginTs, userId }))) {
      return [];
    }
    const { loginTs: signedInAt, exp: expiresAt, authorizations } = session;
    return [{ signedInAt, expiresAt, clientIds: Object.keys(authorizations) }];
  }

  async function readGrant(userId: string, id: string): Promise<readonly UserGrant[]> {
    const grant = parseRecord(storedGrant, (await store.get(grantKey(id))) ?? '');
    if (
      grant?.accountId !== userId ||
      !(await isLive({ issuedAt: grant.iat, userId, clientId: grant.clientId }))
    ) {
      return [];
    }
    const { clientId, iat: since, exp: expiresAt, openid } = grant;
    return [{ clientId, since, expiresAt, scope: openid.scope }];
  }

  return {
    async sessions(userId) {
      const keys = await store.members(userSessionsKey(userId));
      const found = await Promise.all(keys.map((key) => readSession(userId, key)));
      return found.flat().sort((a, b) => b.signedInAt - a.signedInAt);
    },
    async grants(userId) {
      const ids = await store.members(userGrantsKey(userId));
      const found = await Promise.all(ids.map((id) => readGrant(userId, id)));
      return found.flat().sort((a, b) => b.since - a.since);
    },
  };
}
