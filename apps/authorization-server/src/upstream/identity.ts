/** What an upstream provider reports about a user, from the claims that it sent. */
import { userProfileSchema } from '@gatehouse/identity';
import { z } from 'zod';

const { name, givenName, familyName, email } = userProfileSchema.shape;
const rawIdentity = z.object({
  /** Numbers at GitHub. */
  subject: z.union([z.string().min(1).max(255), z.int()]).transform(String),
  email: email.catch(undefined),
  /** Nothing but `true` counts. */
  emailVerified: z.literal(true).optional().catch(undefined),
  name: name.catch(undefined),
  givenName: givenName.catch(undefined),
  familyName: familyName.catch(undefined),
  amr: z
    .array(z.string().regex(/^[\w-]{1,32}$/))
    .max(16)
    .catch([]),
  authTime: z.number().optional(),
  /** The values of the claim that decides roles. */
  roleValues: z
    .union([z.array(z.unknown()), z.unknown().transform((value) => [value])])
    .transform((values) => values.filter((value) => typeof value === 'string')),
});

export type UpstreamIdentity = Readonly<z.output<typeof rawIdentity>>;

export type Claims = Readonly<Record<string, unknown>>;

export const oidcMembers = {
  ...{ subject: 'sub', email: 'email', emailVerified: 'email_verified', name: 'name' },
  ...{ givenName: 'given_name', familyName: 'family_name', amr: 'amr', authTime: 'auth_time' },
} as const;

export function toIdentity(
  claims: Claims,
  members: Readonly<Record<string, string | undefined>>,
  roleClaim: string | undefined,
): UpstreamIdentity {
  const of = (name: string | undefined) =>
    name !== undefined && Object.hasOwn(claims, name) ? claims[name] : undefined;
  const found = Object.entries(members).map(([member, name]) => [member, of(name)]);
  return rawIdentity.parse({ ...Object.fromEntries(found), roleValues: of(roleClaim) });
}
