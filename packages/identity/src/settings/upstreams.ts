/**
 * Upstream providers, where users have another account that signs them in here: `upstreams` of the
 * settings. The client secrets in it are sealed on their way into the store.
 */
import { z } from 'zod';
import { identifier, role, text } from '../records/record.ts';
import type { Sealer } from '../secrets/seal.ts';
import { domainName } from './registration.ts';

const address = z
  .string()
  .max(500)
  .refine((value) => {
    const url = URL.parse(value);
    const isPlain = url?.username === '' && url.password === '' && url.hash === '';
    return url?.protocol === 'https:' && isPlain;
  }, 'must be an https address without a user name and fragment');

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
    issuer: address.optional(),
    /** Of a provider that speaks only OAuth 2.0. */
    oauth: z
      .strictObject({
        authorizationEndpoint: address,
        tokenEndpoint: address,
        userinfoEndpoint: address,
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
  .superRefine(({ issuer, oauth, createUsers, orgId, organizations }, context) => {
    const report = (name: string, message: string) =>
      context.addIssue({ code: 'custom', path: [name], message });
    if ((issuer === undefined) === (oauth === undefined)) {
      report('issuer', 'set either issuer or oauth');
    }
    if (createUsers && orgId === undefined && Object.keys(organizations).length === 0) {
      report('createUsers', 'requires orgId or organizations');
    }
  });

export type Upstream = Readonly<z.output<typeof upstreamSchema>>;

export const upstreamsSchema = z
  .array(upstreamSchema)
  .max(100)
  .superRefine((upstreams, context) => {
    const ids = upstreams.map(({ id }) => id);
    const domains = upstreams.flatMap(({ emailDomains }) => [...new Set(emailDomains)]);
    for (const [i, { id, emailDomains }] of upstreams.entries()) {
      if (ids.indexOf(id) < i) {
        context.addIssue({ code: 'custom', path: [i, 'id'], message: 'is a duplicate' });
      }
      if (emailDomains.some((each) => domains.indexOf(each) !== domains.lastIndexOf(each))) {
        const message = 'must not have a domain of another provider';
        context.addIssue({ code: 'custom', path: [i, 'emailDomains'], message });
      }
    }
  });

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
    const { id, clientSecret } = each;
    if (clientSecret === undefined) {
      return each;
    }
    const last = known.find((other) => other.id === id)?.clientSecret ?? '';
    const isSame = sealer.tryOpen(last, context) === clientSecret;
    return { ...each, clientSecret: isSame ? last : sealer.seal(clientSecret, context) };
  });
}

/** All users of this provider belong to one of these organizations. None: it does not matter. */
export function organizationsOf({ orgId, organizations }: Upstream): ReadonlySet<string> {
  return new Set([...(orgId === undefined ? [] : [orgId]), ...Object.values(organizations)]);
}
