/** The policy of second factors: `secondFactor` of the settings. */
import { z } from 'zod';
import { identifier, role } from '../records/record.ts';

/** Weakest first. */
const policies = ['off', 'optional', 'required'] as const;

/**
 * - `off`: nobody can enroll, and existing factors are not asked for.
 * - `optional`: users who enrolled a factor are asked for it.
 * - `required`: users without a factor enroll one when they sign in.
 */
export type SecondFactorPolicy = (typeof policies)[number];

const policy = z.enum(policies);

export const secondFactorSchema = z.strictObject({
  default: policy.optional(),
  organizations: z.record(identifier, policy).default({}),
  roles: z.record(role, policy).default({}),
  clients: z.record(identifier, policy).default({}),
});

export type SecondFactorSettings = Readonly<z.output<typeof secondFactorSchema>>;

/**
 * The strongest policy for the user at the client. Without a client, it is what the account page
 * offers: a client that requires a factor makes it optional there.
 */
export function secondFactorPolicy(
  settings: SecondFactorSettings | undefined,
  { orgId, roles }: { readonly orgId: string; readonly roles: readonly string[] },
  clientId?: string,
): SecondFactorPolicy {
  if (settings === undefined) {
    return 'off';
  }
  const of = (map: Readonly<Record<string, SecondFactorPolicy>>, name: string) =>
    Object.hasOwn(map, name) ? map[name] : undefined;
  const applicable = [
    settings.default,
    of(settings.organizations, orgId),
    ...roles.map((each) => of(settings.roles, each)),
    ...(clientId === undefined
      ? Object.values(settings.clients).map((each) => (each === 'off' ? each : 'optional'))
      : [of(settings.clients, clientId)]),
  ];
  return policies.findLast((each) => applicable.includes(each)) ?? 'off';
}
