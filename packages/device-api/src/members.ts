import { z } from 'zod';

/** In the examples of the operations. */
export const EXAMPLE_TIME = 1_795_168_479_665;

export const MAXIMUM_CONFIGURATION_ENTRIES = 100;
export const MAXIMUM_NAME_LENGTH = 200;
const MAXIMUM_CONFIGURATION_KEY_LENGTH = 64;
const MAXIMUM_CONFIGURATION_VALUE_LENGTH = 4096;
const MAXIMUM_PROTOCOL_NAME_LENGTH = 64;
/** A text of one line that is not blank. */
export function text(maximumLength: number) {
  return z
    .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a string') })
    .refine((value) => value.trim() !== '', 'must not be blank')
    .max(maximumLength, `must have at most ${maximumLength} characters`)
    .refine(isLine, 'must not contain control characters or broken Unicode');
}

/** A text that may be empty and have several lines. */
export function freeText(maximumLength: number) {
  return z
    .string('must be a string')
    .max(maximumLength, `must have at most ${maximumLength} characters`)
    .refine(isStorable, 'must not contain NUL or broken Unicode');
}

/** The name of a protocol or transport. Empty means unknown. */
export const protocolName = z
  .string('must be a string')
  .max(MAXIMUM_PROTOCOL_NAME_LENGTH, `must have at most ${MAXIMUM_PROTOCOL_NAME_LENGTH} characters`)
  .refine(isLine, 'must not contain control characters or broken Unicode');

export const metadata = freeText(256 * 1024).describe(
  'The thing model as JSON text. The service does not interpret it.',
);

export const moment = z.int().describe('Epoch milliseconds.');

export const momentOrNever = z.int().describe('Epoch milliseconds. 0 means never.');

/** Accepts the plain value, and the `{text, value}` form of replies. */
export function enumerated<const Value extends string>(values: readonly Value[]) {
  return z.preprocess(
    (input) =>
      typeof input === 'object' && input !== null && 'value' in input ? input.value : input,
    z.enum(values, `must be one of ${values.join(', ')}`),
  );
}

/** How replies show an enumerated value: `value` is for programs, `text` for people. */
export function labeled<const Value extends string>(values: readonly Value[]) {
  return z
    .strictObject({
      text: z.string().describe('For people, in Chinese if `Accept-Language` prefers it.'),
      value: z.enum(values).describe('For programs.'),
    })
    .readonly();
}

export interface Labeled<Value extends string> {
  readonly text: string;
  readonly value: Value;
}

const configurationKey = text(MAXIMUM_CONFIGURATION_KEY_LENGTH);
const configurationValue = freeText(MAXIMUM_CONFIGURATION_VALUE_LENGTH);

export const configuration = configurationOf(configurationValue, 'string', 'string values');

export const configurationChanges = configurationOf(
  configurationValue.nullable(),
  ['string', 'null'],
  'values: strings, or null to remove a key',
).meta({ description: 'Merged into the configuration. `null` removes a key (RFC 7396).' });

function configurationOf<Value extends string | null>(
  value: z.ZodType<Value>,
  type: string | readonly string[],
  values: string,
) {
  return z
    .custom<Readonly<Record<string, Value>>>(
      (input) => isConfiguration(input, value),
      `must be an object with at most ${MAXIMUM_CONFIGURATION_ENTRIES} ${values}`,
    )
    .meta({
      type: 'object',
      maxProperties: MAXIMUM_CONFIGURATION_ENTRIES,
      propertyNames: { minLength: 1, maxLength: MAXIMUM_CONFIGURATION_KEY_LENGTH },
      additionalProperties: { type, maxLength: MAXIMUM_CONFIGURATION_VALUE_LENGTH },
    });
}

/**
 * Not every database stores NUL and lone surrogates unchanged. Other control characters could forge
 * lines in a log.
 */
function isLine(value: string): boolean {
  return !/\p{Cc}/u.test(value) && value.isWellFormed();
}

function isStorable(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed();
}

function isConfiguration(input: unknown, value: z.ZodType): boolean {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return false;
  }
  const entries = Object.entries(input);
  return (
    entries.length <= MAXIMUM_CONFIGURATION_ENTRIES &&
    entries.every(
      ([key, entry]) =>
        // Assigning to this key would change the prototype of an object (CWE-1321).
        key !== '__proto__' &&
        configurationKey.safeParse(key).success &&
        value.safeParse(entry).success,
    )
  );
}
