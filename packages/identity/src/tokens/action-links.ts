/**
 * Links that let their holder do one thing once: choose a new password, verify an address, or create
 * an account. The store has only a hash of the link's token. Opening a link changes nothing. Its form
 * uses it up with one atomic claim.
 */
import { randomBytes } from 'node:crypto';
import { claimOnce, type Store } from '@gatehouse/store';
import { z } from 'zod';
import { parseRecord } from '../records/record.ts';
import type { CredentialHash } from '../secrets/credential-keys.ts';
import type { User } from '../users/user.ts';
import type { UserRegistry } from '../users/users.ts';
import type { NotBefore } from './access-tokens.ts';

const storedLink = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('reset'), userId: z.string(), mark: z.string() }),
  z.object({
    kind: z.literal('verify'),
    userId: z.string(),
    email: z.string(),
    mark: z.string(),
  }),
  z.object({ kind: z.literal('register'), orgId: z.string(), email: z.string() }),
  z.object({ kind: z.literal('invite'), orgId: z.string(), email: z.string() }),
]);

type StoredLink = Readonly<z.infer<typeof storedLink>>;
type LinkKind = StoredLink['kind'];
export type ActionLink<Kind extends LinkKind = LinkKind> = Extract<StoredLink, { kind: Kind }>;

/** In seconds. */
const lifetimes = {
  reset: 60 * 60,
  verify: 24 * 60 * 60,
  register: 24 * 60 * 60,
  invite: 7 * 24 * 60 * 60,
} as const;

export function createActionLinks(dependencies: {
  readonly store: Store;
  readonly users: Pick<UserRegistry, 'read'>;
  readonly credentialHash: CredentialHash;
  readonly notBefore: NotBefore;
}) {
  const { store, users, credentialHash } = dependencies;
  const keyOf = (kind: LinkKind, token: string) => `action-link:${kind}:${credentialHash(token)}`;
  /**
   * Changes with the address, with the password, with every sign-out everywhere, and when everything
   * is revoked, as after a restore.
   */
  const markOf = async ({ email = '', passwordHash = '', notBefore: own }: User) => {
    const notBefore = Math.max(own, await dependencies.notBefore.read());
    return credentialHash(`${notBefore} ${passwordHash} ${email}`);
  };

  async function issue(link: StoredLink): Promise<string> {
    const token = randomBytes(32).toString('base64url');
    await store.set(keyOf(link.kind, token), JSON.stringify(link), lifetimes[link.kind]);
    return token;
  }

  /** What the link was issued for has not changed since. */
  async function isCurrent(link: StoredLink): Promise<boolean> {
    if (link.kind === 'invite' || link.kind === 'register') {
      return true;
    }
    const user = await users.read(link.userId);
    return user?.enabled === true && link.mark === (await markOf(user));
  }

  async function find<Kind extends LinkKind>(
    kind: Kind,
    token: string,
  ): Promise<ActionLink<Kind> | undefined> {
    const link = parseRecord(storedLink, (await store.get(keyOf(kind, token))) ?? '');
    return link?.kind === kind && (await isCurrent(link)) ? (link as ActionLink<Kind>) : undefined;
  }

  return {
    /** @returns the token of a link that is valid for an hour, or until the password changes */
    issueReset: async (user: User): Promise<string> =>
      issue({ kind: 'reset', userId: user.userId, mark: await markOf(user) }),
    /**
     * @param email becomes the address of the user. Until then, the user keeps the present one
     * @returns the token of a link that is valid for a day, or until the user changes as for a reset
     */
    issueVerification: async (user: User, email: string): Promise<string> =>
      issue({ kind: 'verify', userId: user.userId, email, mark: await markOf(user) }),
    /** @returns the token of a registration, valid for a day, or of an invitation, for a week */
    issueAccount: (link: ActionLink<'register' | 'invite'>): Promise<string> => issue(link),
    /** Undefined if the link is unknown, expired, used, or out of date. */
    find,
    /** As `find`, and uses the link up. Of any number of callers, one gets it. */
    async take<Kind extends LinkKind>(
      kind: Kind,
      token: string,
    ): Promise<ActionLink<Kind> | undefined> {
      const link = await find(kind, token);
      if (link === undefined) {
        return undefined;
      }
      const key = keyOf(kind, token);
      // The claim outlives the record, so that a late reader of the record cannot claim it again.
      const isFirst = await claimOnce(store, `used:${key}`, 2 * lifetimes[kind]);
      await store.delete([key]);
      return isFirst ? link : undefined;
    },
  };
}
