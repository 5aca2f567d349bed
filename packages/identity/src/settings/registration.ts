/** Who may create an account without an operator: `registration` of the settings. */
import { z } from 'zod';
import { identifier } from '../records/record.ts';

const emailDomain = z
  .string()
  .max(253)
  .refine(
    (value) => /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(value),
    'must be a domain in lower case, such as example.com',
  );

export const registrationSchema = z.strictObject({
  /** By id. Organizations that are not listed are closed. */
  organizations: z.record(
    identifier,
    z.strictObject({
      open: z.boolean(),
      /** Undefined: addresses of every domain. */
      emailDomains: z.array(emailDomain).min(1).max(100).optional(),
    }),
  ),
});

export type Registration = Readonly<z.infer<typeof registrationSchema>>;

/** The domains of an organization whose registration is open. */
export type OpenRegistration = Pick<Registration['organizations'][string], 'emailDomains'>;

/** Undefined if the registration of the organization is closed. */
export function openRegistration(
  { organizations }: Registration,
  orgId: string,
): OpenRegistration | undefined {
  const found = Object.hasOwn(organizations, orgId) ? organizations[orgId] : undefined;
  return found?.open === true ? found : undefined;
}

export function isDomainAllowed({ emailDomains }: OpenRegistration, email: string): boolean {
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase();
  return emailDomains?.includes(domain) ?? true;
}
