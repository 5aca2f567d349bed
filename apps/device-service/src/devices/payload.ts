import { type IllegalArgument, illegalArgument } from '@gatehouse/api-envelope';
import { z } from 'zod';
import { MAX_CONFIGURATION_ENTRIES } from './device.ts';

/** What bodies of devices, products and tags are made of: one rule a kind of member. */

export const MAX_NAME_LENGTH = 200;
export const MAX_PRODUCT_ID_LENGTH = 64;
const MAX_CONFIGURATION_KEY_LENGTH = 64;
const MAX_CONFIGURATION_VALUE_LENGTH = 4096;
const MAX_MODEL_NAME_LENGTH = 64;
const MAX_METADATA_LENGTH = 256 * 1024;

/** A text that says something, in one line. */
export function text(maxLength: number) {
  return z
    .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a text') })
    .refine((value) => value.trim() !== '', 'must not be blank')
    .max(maxLength, `must have at most ${maxLength} characters`)
    .refine(isLine, 'must not contain control characters or broken Unicode');
}

/** A text that may be empty and have several lines. */
export function freeText(maxLength: number) {
  return z
    .string('must be a text')
    .max(maxLength, `must have at most ${maxLength} characters`)
    .refine(isStorable, 'must not contain NUL or broken Unicode');
}

/** Protocol and transport: empty where nobody said. */
export const modelName = z
  .string('must be a text')
  .max(MAX_MODEL_NAME_LENGTH, `must have at most ${MAX_MODEL_NAME_LENGTH} characters`)
  .refine(isLine, 'must not contain control characters or broken Unicode');

/** The thing model, serialised. What is in it is between the product and its users. */
export const metadata = freeText(MAX_METADATA_LENGTH);

/** As replies show an enumerated value, or the plain value. */
export function enumerated<const Value extends string>(values: readonly Value[]) {
  return z.preprocess(
    (input) =>
      typeof input === 'object' && input !== null && 'value' in input ? input.value : input,
    z.enum(values, `must be one of ${values.join(', ')}`),
  );
}

export const configuration = z.custom<Readonly<Record<string, string>>>(
  (value) => isConfiguration(value, false),
  `must be an object with at most ${MAX_CONFIGURATION_ENTRIES} text values`,
);

export const configurationChanges = z.custom<Readonly<Record<string, string | null>>>(
  (value) => isConfiguration(value, true),
  `must be an object with at most ${MAX_CONFIGURATION_ENTRIES} values that are texts, or null to remove`,
);

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

/** `[3].name`, `configuration`; the body as a whole is `body`. */
export function toIllegalArgument(issue: z.core.$ZodIssue): IllegalArgument {
  const path = issue.path.map((step) =>
    typeof step === 'number' ? `[${step}]` : `.${String(step)}`,
  );
  return { property: path.join('').replace(/^\./, '') || 'body', message: issue.message };
}

/** NUL and lone surrogates do not survive every database unchanged; other control characters forge lines. */
function isLine(value: string): boolean {
  return !/\p{Cc}/u.test(value) && value.isWellFormed();
}

function isStorable(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed();
}

function isConfiguration(value: unknown, mayRemove: boolean): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return false;
  }
  const entries = Object.entries(value);
  return (
    entries.length <= MAX_CONFIGURATION_ENTRIES &&
    entries.every(
      ([key, entry]) =>
        isConfigurationKey(key) && (isConfigurationValue(entry) || (mayRemove && entry === null)),
    )
  );
}

function isConfigurationKey(key: string): boolean {
  return (
    key !== '__proto__' &&
    key.trim() !== '' &&
    key.length <= MAX_CONFIGURATION_KEY_LENGTH &&
    isLine(key)
  );
}

function isConfigurationValue(value: unknown): boolean {
  return (
    typeof value === 'string' && value.length <= MAX_CONFIGURATION_VALUE_LENGTH && isStorable(value)
  );
}
