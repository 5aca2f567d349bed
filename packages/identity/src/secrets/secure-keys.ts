import { hash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** 32 characters (190 bits) that need no escaping in Basic, forms, JSON and shells. */
export function generateSecureKey(length = 32): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

/** A random identifier with 128 bits. */
export function generateId(): string {
  return randomBytes(16).toString('hex');
}

/**
 * One of 200 random keys with 16 hexadecimal digits has fewer. Of keys with 16 characters of
 * [A-Za-z0-9], practically none has.
 */
const MINIMUM_DISTINCT_CHARACTERS = 8;
const MAXIMUM_SHARE_OF_EQUAL_STEPS = 0.75;

const advice = 'let Gatehouse generate one, or use: openssl rand -hex 32';

/** The policy for new secure keys in commands and bootstrap files. Existing keys stay valid. */
export const secureKey = z
  .string()
  .regex(/^[\x20-\x7e]{16,256}$/, {
    error: 'must be 16 to 256 printable ASCII characters',
    abort: true,
  })
  .refine(
    (key) =>
      new Set(key).size >= MINIMUM_DISTINCT_CHARACTERS &&
      !repeats(key) &&
      shareOfEqualSteps(key) <= MAXIMUM_SHARE_OF_EQUAL_STEPS,
    `is too easy to guess, because it is a sequence or repetition, or has few different characters: ${advice}`,
  );

/**
 * The index of `presented` in `secrets`, or -1. The time reveals neither the length of a secret,
 * because digests are compared, nor the index, because all secrets are compared.
 */
export function findMatchingSecret(presented: string, secrets: readonly string[]): number {
  const digest = hash('sha256', presented, 'buffer');
  let found = -1;
  for (const [index, secret] of secrets.entries()) {
    const matches = timingSafeEqual(digest, hash('sha256', secret, 'buffer'));
    found = matches ? index : found;
  }
  return found;
}

/** Of a secret. One that is shorter or repeats itself was not drawn at random. */
const MINIMUM_OF_RANDOM = 6;
const placeholders = /change.?me|secret|password|passwort|example|default|placeholder|gatehouse/i;

/** Whether a person probably wrote this secret: zeros, patterns or placeholders. */
export function looksMadeUp(secret: string): boolean {
  const bytes = /^([0-9a-f]{2})+$/i.test(secret)
    ? Buffer.from(secret, 'hex').toString('latin1')
    : '';
  return (
    new Set(secret).size < MINIMUM_OF_RANDOM ||
    placeholders.test(secret) ||
    repeats(secret) ||
    [secret, bytes].some((text) => shareOfEqualSteps(text) > 0.6)
  );
}

/**
 * Whether the text repeats a part, as `abcabc` does. It then occurs in its double before the end.
 */
export function repeats(text: string): boolean {
  return `${text}${text}`.indexOf(text, 1) < text.length;
}

/**
 * The share of differences between neighbors that equal the previous one: 1 for `0123` and `abcd`.
 */
export function shareOfEqualSteps(text: string): number {
  const codes = [...text].map((character) => character.codePointAt(0) ?? 0);
  const steps = codes.slice(1).map((code, i) => code - (codes[i] ?? 0));
  const equal = steps.filter((step, i) => step === steps[i - 1]).length;
  return steps.length < 2 ? 0 : equal / (steps.length - 1);
}
