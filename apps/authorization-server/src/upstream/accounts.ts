/**
 * Which user an account at an upstream provider signs in: the linked one, otherwise the one with the
 * same verified address, otherwise a new one. The operator allows the last two for each provider.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { SignInReasonName } from '@gatehouse/errors';
import {
  emailDomain,
  type Identity,
  organizationsOf,
  RejectedChangeError,
  type Upstream,
  type User,
} from '@gatehouse/identity';
import { changeUser, recordEvent } from '../requests/caller.ts';
import { UpstreamFailure } from './failures.ts';
import type { UpstreamIdentity } from './identity.ts';

/** As for other users (packages/identity). */
const MAXIMUM_ROLES = 50;

/** An account that a provider identified, and the request that brought it. */
interface Arrival {
  readonly upstream: Upstream;
  readonly found: UpstreamIdentity;
  readonly request: IncomingMessage;
}

/** @throws UpstreamFailure */
export async function userOfAccount(arrival: Arrival, identity: Identity): Promise<User> {
  const { upstream, found } = arrival;
  const user = await identity.upstreamLinks.ensure(upstream, found.subject, (link) =>
    choose(arrival, link, identity),
  );
  if (!user.enabled) {
    throw refused('account_disabled', 'the user is disabled', user);
  }
  if (!isOfProvider(user, upstream)) {
    const finding = 'the user is of no organization of the provider';
    throw refused('user_of_another_organization', finding, user);
  }
  return withRoles(user, arrival, identity);
}

/** The page is the same for every reason. */
export function refused(reason: SignInReasonName, finding: string, user?: User): UpstreamFailure {
  const page = { status: 403, error: 'upstreamRefused', reason, userId: user?.userId } as const;
  return new UpstreamFailure(finding, page);
}

/** @throws UpstreamFailure if the account signs in another user */
export async function linkAccount(user: User, arrival: Arrival, identity: Identity): Promise<void> {
  const { upstream, found } = arrival;
  const holder = await identity.upstreamLinks.ensure(upstream, found.subject, async (link) => {
    await link(user.userId);
    recordLink(user, 'upstream_linked', arrival, identity);
    return user;
  });
  if (holder.userId !== user.userId) {
    const page = { status: 403, error: 'upstreamTaken' } as const;
    throw new UpstreamFailure('the account signs in another user', page);
  }
}

/** In the audit trail. */
export function recordLink(
  { userId }: User,
  change: 'added' | 'upstream_linked' | 'upstream_unlinked',
  { upstream, request }: Pick<Arrival, 'upstream' | 'request'>,
  identity: Identity,
): void {
  recordEvent(request, { event: 'user_changed', userId, change, upstream: upstream.id }, identity);
}

/** The user of an account without a link. */
async function choose(
  arrival: Arrival,
  link: (userId?: string) => Promise<string>,
  identity: Identity,
): Promise<User> {
  const { upstream, found } = arrival;
  const { orgId: usual, organizations, emailDomains } = upstream;
  const domain = emailDomain(found.email ?? '') ?? '';
  const isTrusted = emailDomains.length === 0 || emailDomains.includes(domain);
  const isVerified = found.emailVerified === true && isTrusted;
  const email = isVerified ? found.email : undefined;
  const holder = email === undefined ? undefined : await identity.users.findByEmail(email);
  if (holder !== undefined) {
    // Otherwise, a provider of one organization could take over accounts of another one.
    if (!upstream.linkByVerifiedEmail || !isOfProvider(holder, upstream)) {
      throw refused('upstream_not_linked', 'a user has the address, and is not linked');
    }
    await link(holder.userId);
    recordLink(holder, 'upstream_linked', arrival, identity);
    return holder;
  }
  const orgId = isVerified && Object.hasOwn(organizations, domain) ? organizations[domain] : usual;
  if (!upstream.createUsers || orgId === undefined) {
    throw refused('upstream_not_linked', 'no user is linked');
  }
  const { isRemoved, find } = identity.organizations;
  if ((await isRemoved(orgId, 'now')) || (await find(orgId)) === undefined) {
    const finding = `the organization ${orgId} of the provider does not exist`;
    throw refused('upstream_not_linked', finding);
  }
  const userId = await link();
  const { name, givenName, familyName } = found;
  const add = (username: string) => {
    const profile = { name: name ?? email ?? username, givenName, familyName, roles: [] };
    const address = { email: email ?? found.email, emailVerified: email !== undefined };
    return identity.users.add({ username, orgId, ...profile, ...address }, userId);
  };
  // An address that was not verified can be that of another person.
  const generated = `${upstream.id}-${randomBytes(5).toString('hex')}`;
  const user = await add(email?.slice(0, 128) ?? generated).catch((error: unknown) => {
    if (error instanceof RejectedChangeError) {
      return add(generated);
    }
    throw error;
  });
  recordLink(user, 'added', arrival, identity);
  return user;
}

/** The provider decides about the roles in its mapping. Other roles stay. */
async function withRoles(
  user: User,
  { upstream, found, request }: Arrival,
  identity: Identity,
): Promise<User> {
  const mapping = new Map(Object.entries(upstream.roles?.values ?? {}));
  const ofProvider = new Set([...mapping.values()].flat());
  const granted = found.roleValues.flatMap((value) => mapping.get(value) ?? []);
  const rolesOf = ({ roles }: User) => {
    const kept = roles.filter((each) => !ofProvider.has(each) || granted.includes(each));
    return [...new Set([...kept, ...granted])].slice(0, MAXIMUM_ROLES);
  };
  return isDeepStrictEqual(rolesOf(user), [...user.roles])
    ? user
    : changeUser(request, user.userId, (each) => ({ ...each, roles: rolesOf(each) }), identity, {
        upstream: upstream.id,
      });
}

/** @throws UpstreamFailure if no provider has the id, or it is not for the user of this page */
export async function findUpstream(
  id: string,
  { settings }: Pick<Identity, 'settings'>,
  user?: User,
): Promise<Upstream> {
  const upstream = (await settings.read()).upstreams.get(id);
  if (upstream === undefined || (user !== undefined && !isOfProvider(user, upstream))) {
    throw new UpstreamFailure('no provider has this id', { status: 404, error: 'notFound' });
  }
  return upstream;
}

/** Whether its users can be of the organization. */
export function isOfProvider({ orgId }: Pick<User, 'orgId'>, upstream: Upstream): boolean {
  const organizations = organizationsOf(upstream);
  return organizations.size === 0 || organizations.has(orgId);
}
