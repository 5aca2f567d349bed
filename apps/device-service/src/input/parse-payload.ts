import { type IllegalArgument, illegalArgument } from '@gatehouse/errors';
import type { z } from 'zod';

/** @throws ApiError `illegal_argument` naming every wrong member */
export function parsePayload<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): z.infer<Schema> {
  const parsed = schema.safeParse(body);
  if (!parsed.success) {
    throw illegalArgument(parsed.error.issues.map(toIllegalArgument));
  }
  return parsed.data;
}

/** Names the member as `[3].name` or `configuration`, and the whole body as `body`. */
export function toIllegalArgument(issue: z.core.$ZodIssue): IllegalArgument {
  const path = issue.path.map((step) =>
    typeof step === 'number' ? `[${step}]` : `.${String(step)}`,
  );
  return { property: path.join('').replace(/^\./, '') || 'body', message: issue.message };
}
