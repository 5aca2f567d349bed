/**
 * Which user an account at an upstream provider signs in: the linked one, otherwise the one with the
 * same verified address, otherwise a new one. The operator allows the last two for each provider.
 */
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { SignInReasonName } from '@gatehouse/errors';
import {
  type AuditOrigin,
  emailDomain,
  type Identity,
  organizationsOf,
  RejectedChangeError,
  type Upstream,
  type User,
} from '@gatehouse/identity';
import type { UpstreamIdentity } from './identity.ts';

/** As for other users (packages/identity). */
const MAXIMUM_ROLES = 50;

/** The account is not linked, or its user must not sign in. The reason is for the log. */
export class AccountRefusedError extends Error {
  override name = 'AccountRefusedError';
  readonly reason: SignInReasonName;
  readonly userId: string | undefined;

  constructor(reason: SignInReasonName, userId?: string) {
    super(reason);
    this.reason = reason;
    this.userId = userId;
  }
}

export type UpstreamAccounts = ReturnType<typeof createUpstreamAccounts>;

interface Arrival {
  readonly upstream: Upstream;
  readonly found: UpstreamIdentity;
  readonly origin: AuditOrigin;
}

export function createUpstreamAccounts(identity: Identity) {
  const { upstreamLinks } = identity;
  const record = createRecord(identity);
  return {
    /** @throws AccountRefusedError */
    async find(arrival: Arrival): Promise<User> {
      const { upstream, found } = arrival;
      const user =
        (await upstreamLinks.find(upstream, found.subject)) ??
        (await upstreamLinks.ensure(upstream, found.subject, (newId) =>
          choose(arrival, newId, identity),
        ));
      if (user === undefined) {
        throw new AccountRefusedError('upstream_not_linked');
      }
      if (!user.enabled) {
        throw new AccountRefusedError('account_disabled', user.userId);
      }
      if (!isOfProvider(user, upstream)) {
        throw new AccountRefusedError('user_of_another_organization', user.userId);
      }
      return withRoles(user, arrival, identity);
    },

    /** @returns false if the account signs in another user, or is of another organization */
    async link(user: User, { upstream, found, origin }: Arrival): Promise<boolean> {
      const { userId } = user;
      if (!isOfProvider(user, upstream)) {
        return false;
      }
      const holder = await upstreamLinks.ensure(upstream, found.subject, async () => {
        record(userId, 'upstream_linked', { upstream, origin });
        return { userId, open: async () => user };
      });
      return holder?.userId === userId;
    },

    async unlink({ userId }: User, upstream: Upstream, origin: AuditOrigin): Promise<void> {
      if (await upstreamLinks.unlink(userId, upstream.id)) {
        record(userId, 'upstream_unlinked', { upstream, origin });
      }
    },
  };
}

const createRecord =
  ({ audit }: Identity) =>
  (
    userId: string,
    change: 'added' | 'upstream_linked' | 'upstream_unlinked',
    { upstream, origin }: Pick<Arrival, 'upstream' | 'origin'>,
  ) =>
    audit.record({ event: 'user_changed', userId, change, upstream: upstream.id }, origin);

/** The user of an account without a link. */
async function choose(arrival: Arrival, newId: string, identity: Identity) {
  const { upstream, found } = arrival;
  const record = createRecord(identity);
  const email = verifiedEmail(upstream, found);
  const holder = email === undefined ? undefined : await identity.users.findByEmail(email);
  if (holder !== undefined) {
    // Otherwise, a provider of one organization could take over accounts of another one.
    if (!upstream.linkByVerifiedEmail || !isOfProvider(holder, upstream)) {
      return undefined;
    }
    record(holder.userId, 'upstream_linked', arrival);
    return { userId: holder.userId, open: async () => holder };
  }
  const orgId = organizationFor(upstream, email);
  if (!upstream.createUsers || orgId === undefined) {
    return undefined;
  }
  const open = async () => {
    const user = await addUser(arrival, { userId: newId, orgId }, identity);
    record(user.userId, 'added', arrival);
    return user;
  };
  return { userId: newId, open };
}

async function addUser(
  { upstream, found }: Arrival,
  { userId, orgId }: Pick<User, 'userId' | 'orgId'>,
  { users }: Identity,
): Promise<User> {
  const email = verifiedEmail(upstream, found);
  const { name, givenName, familyName } = found;
  const add = (username: string) => {
    const profile = { name: name ?? email ?? username, givenName, familyName, roles: [] };
    const address = { email: email ?? found.email, emailVerified: email !== undefined };
    return users.add({ username, orgId, ...profile, ...address }, userId);
  };
  // An address that was not verified can be that of another person.
  const generated = `${upstream.id}-${randomBytes(5).toString('hex')}`;
  return add(email?.slice(0, 128) ?? generated).catch((error: unknown) => {
    if (error instanceof RejectedChangeError) {
      return add(generated);
    }
    throw error;
  });
}

/** The provider decides about the roles in its mapping. Other roles stay. */
async function withRoles(user: User, arrival: Arrival, identity: Identity): Promise<User> {
  const mapping = Object.entries(arrival.upstream.roles?.values ?? {});
  const ofProvider = new Set(mapping.flatMap(([, roles]) => roles));
  const granted = mapping.flatMap(([value, roles]) =>
    arrival.found.roleValues.includes(value) ? roles : [],
  );
  const rolesOf = ({ roles }: User) => {
    const kept = roles.filter((each) => !ofProvider.has(each) || granted.includes(each));
    return [...new Set([...kept, ...granted])].slice(0, MAXIMUM_ROLES);
  };
  if (isDeepStrictEqual(rolesOf(user), [...user.roles])) {
    return user;
  }
  const { userId } = user;
  let before = user;
  const after = await identity.users.update(userId, (each) => {
    before = each;
    return { ...each, roles: rolesOf(each) };
  });
  const changes = await identity.auditedChanges.ofUser(before, after);
  const event = { event: 'user_changed', userId, change: 'changed', ...changes } as const;
  identity.audit.record({ ...event, upstream: arrival.upstream.id }, arrival.origin);
  return after;
}

/** The address, if the provider verified it and may verify addresses of its domain. */
function verifiedEmail(
  { emailDomains }: Upstream,
  { email, emailVerified }: UpstreamIdentity,
): string | undefined {
  const isTrusted =
    emailDomains.length === 0 || emailDomains.includes(emailDomain(email ?? '') ?? '');
  return emailVerified === true && isTrusted ? email : undefined;
}

function organizationFor({ orgId, organizations }: Upstream, email: string | undefined) {
  const domain = emailDomain(email ?? '') ?? '';
  return Object.hasOwn(organizations, domain) ? organizations[domain] : orgId;
}

export function isOfProvider({ orgId }: Pick<User, 'orgId'>, upstream: Upstream): boolean {
  const organizations = organizationsOf(upstream);
  return organizations.size === 0 || organizations.has(orgId);
}
