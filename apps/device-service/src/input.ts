import { ApiError, type IllegalArgument, illegalArgument } from '@gatehouse/errors';
import type { z } from 'zod';

/** Limits the size of a reply that reports problems. */
export const MAXIMUM_REPORTED_PROBLEMS = 100;

/**
 * Checks input, or the part of it at `path`, such as `terms[0].terms`.
 *
 * @throws ApiError `illegal_argument` naming the wrong members
 */
export function parsePayload<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  path = '',
): z.infer<Schema> {
  const parsed = schema.safeParse(input);
  if (!parsed.success) {
    const issues = parsed.error.issues.slice(0, MAXIMUM_REPORTED_PROBLEMS);
    throw illegalArgument(
      issues.map((issue) => toIllegalArgument(issue, path)),
      'illegal_argument',
    );
  }
  return parsed.data;
}

/** Names the member as `[3].name` or `configuration`, and the whole body as `body`. */
export function toIllegalArgument(issue: z.core.$ZodIssue, within = ''): IllegalArgument {
  const path = issue.path.map((step) =>
    typeof step === 'number' ? `[${step}]` : `.${String(step)}`,
  );
  const property = `${within}${path.join('')}`.replace(/^\./, '') || 'body';
  return { property, message: issue.message };
}

/** @throws ApiError `not_found` */
export function assertFound<Found>(found: Found | undefined): Found {
  if (found === undefined) {
    throw new ApiError('not_found');
  }
  return found;
}
