/**
 * Upstream providers, where users have another account that signs them in here: `upstreams` of the
 * settings. The client secrets in it are sealed on their way into the store.
 */
import { z } from 'zod';
import { calledAddress, identifier, role, text } from '../records/record.ts';
import type { Sealer } from '../secrets/seal.ts';
import { domainName } from './registration.ts';

/** The name of a member of userinfo. */
const member = text(100);

const upstreamSchema = z
  .strictObject({
    /** Part of the callback address, `/upstream/{id}/callback`. */
    id: z
      .string()
      .regex(/^[a-z\d][a-z\d-]{0,39}$/, 'must be 1 to 40 lower-case letters, digits and hyphens'),
    /** On the button. */
    name: text(60),
    /** Of an OpenID Connect provider. */
    issuer: calledAddress.optional(),
    /** Of a provider that speaks only OAuth 2.0. */
    oauth: z
      .strictObject({
        authorizationEndpoint: calledAddress,
        tokenEndpoint: calledAddress,
        userinfoEndpoint: calledAddress,
        /** Which members of userinfo describe the user. */
        members: z.strictObject({
          subject: member,
          email: member.optional(),
          emailVerified: member.optional(),
          name: member.optional(),
        }),
      })
      .optional(),
    clientId: text(500),
    /** Sealed in the store. Without one, the provider knows Gatehouse as a public client. */
    clientSecret: z.string().min(1).max(4096).optional(),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, 'must be a scope'))
      .max(50)
      .optional(),
    /** The organization of all its users. Users of others cannot sign in with it. */
    orgId: identifier.optional(),
    /** The organization of the users whose address has this domain. */
    organizations: z.record(domainName, identifier).default({}),
    /** A user has the roles of each value of this claim, and none of the other roles here. */
    roles: z
      .strictObject({ claim: member, values: z.record(text(200), z.array(role).max(50)) })
      .optional(),
    /** The only domains of which the provider can verify addresses. They select the provider. */
    emailDomains: z.array(domainName).max(100).default([]),
    /** False: only an address with one of its domains leads to it. */
    button: z.boolean().default(true),
    linkByVerifiedEmail: z.boolean().default(false),
    createUsers: z.boolean().default(false),
    /** `mfa` in its `amr` counts as a second factor. */
    trustsFactors: z.boolean().default(false),
  })
  .refine(({ issuer, oauth }) => (issuer === undefined) !== (oauth === undefined), {
    path: ['issuer'],
    message: 'set either issuer or oauth',
  })
  .refine(
    ({ createUsers, orgId, organizations }) =>
      !createUsers || orgId !== undefined || Object.keys(organizations).length > 0,
    { path: ['createUsers'], message: 'requires orgId or organizations' },
  );

export type Upstream = Readonly<z.output<typeof upstreamSchema>>;

export const upstreamsSchema = z
  .array(upstreamSchema)
  .max(100)
  .refine((upstreams) => {
    const names = upstreams.flatMap(({ id, emailDomains }) => [id, ...new Set(emailDomains)]);
    return new Set(names).size === names.length;
  }, 'must not have two providers with the same id, or with the same domain in emailDomains');

/**
 * The client secrets of a change, sealed. An unchanged one keeps its text, so that the same file
 * changes nothing.
 *
 * @param context the key of the record
 */
export function sealClientSecrets(
  wanted: readonly Upstream[],
  known: readonly Upstream[],
  sealer: Sealer,
  context: string,
): Upstream[] {
  return wanted.map((each) => {
    const { clientSecret: secret } = each;
    const last = known.find(({ id }) => id === each.id)?.clientSecret;
    const isSame = secret === last || (last && sealer.tryOpen(last, context)) === secret;
    return { ...each, clientSecret: isSame ? last : secret && sealer.seal(secret, context) };
  });
}

/**
 * An operator does not see the secrets, so an absent one stays. A provider at another address must
 * not get it.
 */
export function keepClientSecrets(
  wanted: readonly Upstream[],
  known: readonly Upstream[],
): Upstream[] {
  const addressesOf = ({ id, issuer, oauth, clientId }: Upstream) =>
    JSON.stringify([id, issuer, oauth?.tokenEndpoint, clientId]);
  return wanted.map((each) => {
    const last = known.find((other) => addressesOf(other) === addressesOf(each));
    const clientSecret = each.clientSecret ?? last?.clientSecret;
    return clientSecret === undefined ? each : { ...each, clientSecret };
  });
}

/** All users of this provider belong to one of these organizations. None: it does not matter. */
export function organizationsOf({ orgId, organizations }: Upstream): ReadonlySet<string> {
  return new Set([...(orgId === undefined ? [] : [orgId]), ...Object.values(organizations)]);
}
