import { z } from 'zod';
import { clientSchema, identifier, text } from '../clients/client.ts';
import { passwordProblem, passwordRules } from '../users/password-policy.ts';
import { canonicalUsername } from '../users/user.ts';

export const organizationSchema = z.strictObject({ id: identifier, name: text(200) });

const bootstrapClientSchema = clientSchema.safeExtend({
  /** Tokens of a key that the file replaces stay valid until they expire. */
  keepTokens: z.boolean().default(false),
});

/** Every token of the user can contain the roles, so their number is limited. */
const MAXIMUM_ROLES = 50;

const role = text(100).refine(
  (value) => value.trim() === value,
  'must not start or end with white space',
);

const profileMembers = {
  givenName: text(200).optional(),
  familyName: text(200).optional(),
  email: z.email('must be an email address').max(254).optional(),
  emailVerified: z.boolean().optional(),
  roles: z
    .array(role)
    .max(MAXIMUM_ROLES, `must not have more than ${MAXIMUM_ROLES} entries`)
    .refine((roles) => new Set(roles).size === roles.length, 'must not contain duplicates')
    .optional(),
};

/** The members of a user that the command `users change` sets. */
export const userProfileSchema = z.strictObject({ name: text(200).optional(), ...profileMembers });

const userMembers = z.strictObject({
  username: text(128)
    .refine((value) => value.trim() === value, 'must not start or end with white space')
    .refine((value) => !/\p{Cf}/u.test(value), 'must not contain invisible characters'),
  password: z.string('set password or passwordFile'),
  name: text(200),
  orgId: identifier,
  ...profileMembers,
  enabled: z.boolean().optional(),
});

export const userSchema = userMembers.superRefine((user, context) => {
  const { password, username, email, emailVerified } = user;
  const problem = passwordProblem(password, { username });
  if (problem !== undefined) {
    context.addIssue({ code: 'custom', path: ['password'], message: passwordRules[problem] });
  }
  if (emailVerified === true && email === undefined) {
    context.addIssue({ code: 'custom', path: ['emailVerified'], message: 'requires an email' });
  }
});

/** `BOOTSTRAP_FILE`. Rejects unknown members, which can be misspellings of optional ones. */
export const bootstrapSchema = z.strictObject({
  organizations: distinct(organizationSchema, 'id', (entry) => entry.id).default([]),
  clients: distinct(bootstrapClientSchema, 'clientId', (entry) => entry.clientId).default([]),
  users: distinct(userSchema, 'username', (entry) => canonicalUsername(entry.username)).default([]),
});

/** If two entries had the same name, the second would undo the first at every start. */
function distinct<Entry extends z.ZodType>(
  entry: Entry,
  member: string,
  nameOf: (value: z.infer<Entry>) => string,
) {
  return z.array(entry).superRefine((values, context) => {
    const names = values.map(nameOf);
    names.forEach((name, i) => {
      if (names.indexOf(name) < i) {
        context.addIssue({ code: 'custom', path: [i, member], message: 'is a duplicate' });
      }
    });
  });
}

export type BootstrapDefinition = z.infer<typeof bootstrapSchema>;
