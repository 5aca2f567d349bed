import { toProblems } from '@gatehouse/configuration';
import { type Identity, RefusedChangeError } from '@gatehouse/identity';
import type { z } from 'zod';
import { UsageError } from './command.ts';

/** @throws UsageError that lists every problem, without the values */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const problems = toProblems(parsed.error).map(({ name, message }) => `${name}: ${message}`);
    throw new UsageError('Invalid input:', problems);
  }
  return parsed.data;
}

export async function assertOrganizationExists(orgId: string, identity: Identity): Promise<void> {
  if ((await identity.organizations.find(orgId)) === undefined) {
    throw new RefusedChangeError(
      `The organization ${orgId} does not exist. Add it first: gatehouse organizations add ${orgId}`,
    );
  }
}
