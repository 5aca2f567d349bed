/**
 * Links that let their holder do one thing once: choose a new password, verify an address, or create
 * an account. The store has only a hash of the link's token. Opening a link changes nothing. Its form
 * uses it up with one atomic claim.
 */
import { randomBytes } from 'node:crypto';
import { claimOnce } from '@gatehouse/store';
import { z } from 'zod';
import type { OrganizationRegistry } from '../records/organizations.ts';
import { parseRecord } from '../records/record.ts';
import type { SecretDependencies } from '../secrets/seal.ts';
import { isDomainAllowed } from '../settings/registration.ts';
import type { SettingsRegistry } from '../settings/settings.ts';
import { canonicalEmail } from '../users/user.ts';
import type { UserRegistry } from '../users/users.ts';
import type { NotBefore } from './access-tokens.ts';

const ofUser = { userId: z.string() };
const ofAccount = { orgId: z.string(), email: z.string() };

const wantedLink = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('reset'), ...ofUser }),
  /** The address becomes that of the user. Until then, the user keeps the present one. */
  z.object({ kind: z.literal('verify'), ...ofUser, email: z.string() }),
  z.object({ kind: z.literal('register'), ...ofAccount }),
  z.object({ kind: z.literal('invite'), ...ofAccount }),
]);
const storedLink = z.object({ link: wantedLink, mark: z.string() });

export type WantedLink = Readonly<z.infer<typeof wantedLink>>;
type LinkKind = WantedLink['kind'];
export type ActionLink<Kind extends LinkKind> = Extract<WantedLink, { kind: Kind }>;

/** In seconds. */
const lifetimes = {
  reset: 60 * 60,
  verify: 24 * 60 * 60,
  register: 24 * 60 * 60,
  invite: 7 * 24 * 60 * 60,
} as const;

export type ActionLinks = ReturnType<typeof createActionLinks>;

export function createActionLinks(
  dependencies: SecretDependencies & {
    readonly settings: SettingsRegistry;
    readonly users: Pick<UserRegistry, 'read' | 'findByEmail'>;
    readonly organizations: OrganizationRegistry;
    readonly notBefore: NotBefore;
  },
) {
  const { store, settings, users, organizations, credentialHash, now } = dependencies;
  const keyOf = (kind: LinkKind, token: string) => `action-link:${kind}:${credentialHash(token)}`;
  /** The links for a new account with this address. */
  const accountLinksKey = (email: string) =>
    `account-links:${credentialHash(canonicalEmail(email))}`;

  /**
   * Changes when everything is revoked, as after a restore. The mark of a new account also changes
   * when its organization is removed, and that of a user with the password, with the address, and
   * with every sign-out everywhere. Undefined while nobody can use the link, also because its address
   * is the verified one of another user.
   */
  async function markOf(link: WantedLink): Promise<string | undefined> {
    const notBefore = await dependencies.notBefore.read();
    const holder = 'email' in link ? await users.findByEmail(link.email) : undefined;
    if ('orgId' in link) {
      const removedAt = await organizations.removedAt(link.orgId);
      const isOpen = holder === undefined && (await canCreate(link));
      return isOpen ? credentialHash(`${notBefore} ${removedAt}`) : undefined;
    }
    const user = await users.read(link.userId);
    const { email = '', passwordHash = '' } = user ?? {};
    const isFree = holder === undefined || holder.userId === link.userId;
    return user?.enabled === true && isFree
      ? credentialHash(`${Math.max(user.notBefore, notBefore)} ${passwordHash} ${email}`)
      : undefined;
  }

  /** Operators invite to organizations with a closed registration as well. */
  async function canCreate({ kind, orgId, email }: ActionLink<'register' | 'invite'>) {
    const open = (await settings.read()).registrationOf(orgId);
    const isAllowed = kind === 'invite' || (open !== undefined && isDomainAllowed(open, email));
    return isAllowed && (await organizations.find(orgId)) !== undefined;
  }

  async function find<Kind extends LinkKind>(
    kind: Kind,
    token: string,
  ): Promise<ActionLink<Kind> | undefined> {
    const { link, mark } = parseRecord(storedLink, await store.get(keyOf(kind, token))) ?? {};
    const isCurrent = link?.kind === kind && mark === (await markOf(link));
    return isCurrent ? (link as ActionLink<Kind>) : undefined;
  }

  /** Ends all links for a new account with this address. */
  async function endForAddress(email: string): Promise<void> {
    const index = accountLinksKey(email);
    await store.delete([...(await store.members(index)), index]);
  }

  return {
    /** @returns the token of the link. Undefined if the link could not be used */
    async issue(link: WantedLink): Promise<string | undefined> {
      const mark = await markOf(link);
      if (mark === undefined) {
        return undefined;
      }
      const token = randomBytes(32).toString('base64url');
      const key = keyOf(link.kind, token);
      const seconds = lifetimes[link.kind];
      await store.set(key, JSON.stringify({ link, mark }), seconds);
      if ('orgId' in link) {
        await store.addToIndex(accountLinksKey(link.email), key, now() + seconds * 1000);
      }
      return token;
    },
    /** Undefined if the link is unknown, expired, used, or out of date. */
    find,
    /**
     * As `find`, and uses the link up. Of any number of callers, one gets it. A link for a new account
     * ends the others for its address as well.
     */
    async take<Kind extends LinkKind>(
      kind: Kind,
      token: string,
    ): Promise<ActionLink<Kind> | undefined> {
      const link = await find(kind, token);
      const key = keyOf(kind, token);
      // The claim outlives the record, so that a late reader of the record cannot claim it again.
      const claim = () => claimOnce(store, `used:${key}`, 2 * lifetimes[kind]);
      if (link === undefined || !(await claim())) {
        return undefined;
      }
      await ('orgId' in link ? endForAddress(link.email) : store.delete([key]));
      return link;
    },
    endForAddress,
  };
}
