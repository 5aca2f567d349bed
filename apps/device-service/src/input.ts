import { deviceIdPattern } from '@gatehouse/device-api';
import { ApiError, type IllegalArgument, illegalArgument } from '@gatehouse/errors';
import type { z } from 'zod';

/** @throws ApiError `illegal_argument` naming every wrong member */
export function parsePayload<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): z.infer<Schema> {
  const parsed = schema.safeParse(body);
  if (!parsed.success) {
    throw illegalArgument(
      parsed.error.issues.map((issue) => toIllegalArgument(issue)),
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

/**
 * Calls `find` only for ids that a device can have.
 *
 * @throws ApiError `not_found` if the id is impossible, or if `find` resolves to undefined
 */
export async function findByDeviceId<Found>(
  id: string,
  find: (id: string) => Promise<Found | undefined>,
): Promise<Found> {
  const found = deviceIdPattern.test(id) ? await find(id) : undefined;
  if (found === undefined) {
    throw new ApiError('not_found');
  }
  return found;
}

type Loose<Shape> = { readonly [Name in keyof Shape]: Shape[Name] | undefined };

/** Removes the members that are undefined: an update changes only the members that exist. */
export function withoutUndefined<Shape extends object>(loose: Loose<Shape>): Shape {
  return Object.fromEntries(
    Object.entries(loose).filter(([, value]) => value !== undefined),
  ) as Shape;
}
