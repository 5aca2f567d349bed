/** Who may create an account without an operator: `registration` of the settings. */
import { z } from 'zod';
import { identifier } from '../records/record.ts';

/** Of email addresses. */
export const domainName = z
  .string()
  .max(253)
  .regex(/^(?:[a-z\d-]+\.)+[a-z\d-]+$/, 'must be a domain in lower case, such as example.com');

/** The domain of an address, in lower case. */
export function emailDomain(email: string): string | undefined {
  return /^[^@\s]+@([^@\s]+)$/.exec(email.trim().toLowerCase())?.[1];
}

export const registrationSchema = z.strictObject({
  /** By id. Organizations that are not listed are closed. */
  organizations: z.record(
    identifier,
    z.strictObject({
      open: z.boolean(),
      /** Undefined: addresses of every domain. */
      emailDomains: z.array(domainName).min(1).max(100).optional(),
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
  return emailDomains?.includes(emailDomain(email) ?? '') ?? true;
}
