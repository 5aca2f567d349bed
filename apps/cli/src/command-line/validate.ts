import { type Identity, RejectedChangeError } from '@gatehouse/identity';
import { readableIssue } from '@gatehouse/server/configuration';
import type { z } from 'zod';
import { UsageError } from './command.ts';

/** The names of members in a bootstrap file, as an operator enters them. */
const enteredAs: Readonly<Record<string, string>> = {
  id: '<id>',
  clientId: '<clientId>',
  username: '<username>',
  name: '--name',
  givenName: '--given-name',
  familyName: '--family-name',
  orgId: '--org',
  email: '--email',
  emailVerified: '--email-verified',
  roles: '--role',
  grantTypes: '--grant-type',
  redirectUris: '--redirect-uri',
  postLogoutRedirectUris: '--post-logout-redirect-uri',
  scopes: '--scope',
  signatureAlgorithm: '--signature-algorithm',
  applicationType: '--application-type',
  corsOrigins: '--cors-origin',
  ipAllowList: '--ip-allow',
  public: '--public',
};

/** @throws UsageError that lists every problem by option, without the values */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.infer<Schema> {
  const parsed = schema.safeParse(value, { error: readableIssue });
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      ({ path, message }) => `${describePath(path)}: ${message}`,
    );
    throw new UsageError('Invalid input:', problems);
  }
  return parsed.data;
}

/** `--scope (entry 2)` for `scopes.1`. */
function describePath([member, index]: readonly PropertyKey[]): string {
  const entered = enteredAs[String(member)] ?? String(member);
  return typeof index === 'number' ? `${entered} (entry ${index + 1})` : entered;
}

export async function assertOrganizationExists(orgId: string, identity: Identity): Promise<void> {
  if ((await identity.organizations.find(orgId)) === undefined) {
    throw new RejectedChangeError(
      `The organization ${orgId} does not exist. Add it first: gatehouse organizations add ${orgId}`,
    );
  }
}
