import { z } from 'zod';
import type { Labels } from './labels.ts';

/** In the examples of the operations. */
export const EXAMPLE_TIME = 1_795_168_479_665;

export const MAXIMUM_CONFIGURATION_ENTRIES = 100;
export const MAXIMUM_NAME_LENGTH = 200;

const requiredText = {
  error: ({ input }: { readonly input?: unknown }) =>
    input === undefined ? 'is required' : 'must be a string',
};

/**
 * A text of one line. Not every database stores lone surrogates unchanged. Control characters could
 * forge lines in a log.
 */
function line(maximumLength: number) {
  return z
    .string(requiredText)
    .max(maximumLength, `must have at most ${maximumLength} characters`)
    .refine(
      (value) => !/\p{Cc}/u.test(value) && value.isWellFormed(),
      'must not contain control characters or broken Unicode',
    );
}

/** A text of one line that is not blank. */
export function text(maximumLength: number) {
  return line(maximumLength).refine((value) => value.trim() !== '', 'must not be blank');
}

/** A text that may be empty and have several lines. */
export function freeText(maximumLength: number) {
  return z
    .string('must be a string')
    .max(maximumLength, `must have at most ${maximumLength} characters`)
    .refine(
      (value) => !value.includes('\0') && value.isWellFormed(),
      'must not contain NUL or broken Unicode',
    );
}

/** The name of a protocol or transport. Empty means unknown. */
export const protocolName = line(64);

export const metadata = freeText(256 * 1024).describe(
  'The thing model as JSON text. The service does not interpret it.',
);

export const moment = z.int().describe('Epoch milliseconds.');

export const momentOrNever = z.int().describe('Epoch milliseconds. 0 means never.');

const valuesOf = <Value extends string>(labels: Labels<Value>) => Object.keys(labels) as Value[];

/** Accepts the plain value, and the `{text, value}` form of replies. */
export function enumerated<Value extends string>(labels: Labels<Value>) {
  const values = valuesOf(labels);
  return z.preprocess(
    (input) =>
      typeof input === 'object' && input !== null && 'value' in input ? input.value : input,
    z.enum(values, `must be one of ${values.join(', ')}`),
  );
}

/** How replies show an enumerated value: `value` is for programs, `text` for people. */
export function labeled<Value extends string>(labels: Labels<Value>) {
  return z
    .strictObject({
      text: z.string().describe('For people, in Chinese if `Accept-Language` prefers it.'),
      value: z.enum(valuesOf(labels)).describe('For programs.'),
    })
    .readonly();
}

const configurationKey = text(64).meta({ minLength: 1 });
const configurationValue = freeText(4096);
const sizeRule = `must be an object with at most ${MAXIMUM_CONFIGURATION_ENTRIES} entries`;
const keyRule = 'must have a key of 1 to 64 characters, without control characters';
const entryRules = {
  error: ({ code }: { readonly code?: string }) => (code === 'invalid_key' ? keyRule : sizeRule),
};

export const configuration = z
  .pipe(
    z.transform(limitEntries<Record<string, string>>),
    z.record(configurationKey, configurationValue, entryRules),
  )
  .meta({ maxProperties: MAXIMUM_CONFIGURATION_ENTRIES });

export const configurationChanges = z
  .pipe(
    z.transform(limitEntries<Record<string, string | null>>),
    z.record(configurationKey, configurationValue.nullable(), entryRules),
  )
  .meta({ maxProperties: MAXIMUM_CONFIGURATION_ENTRIES })
  .describe('Merged into the configuration. `null` removes a key (RFC 7396).');

/** Limits how many entries are checked. */
function limitEntries<Entries>(input: Entries, context: z.RefinementCtx): Entries {
  if (Object.keys(Object(input)).length > MAXIMUM_CONFIGURATION_ENTRIES) {
    context.addIssue(sizeRule);
  }
  return input;
}
