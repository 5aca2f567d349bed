import { characterCodes, repeats, shareOfEqualSteps } from './patterns.ts';

/** A random key of 16 hexadecimal digits has fewer once in 200 times, one of 16 characters of [A-Za-z0-9] never. */
const MINIMUM_DISTINCT_CHARACTERS = 8;
const MAXIMUM_SHARE_OF_EQUAL_STEPS = 0.75;

const advice = 'let Gatehouse generate one, or use: openssl rand -hex 32';

/** What is wrong with a secure key and how to fix it: the end of a sentence that begins with its name. */
export const secureKeyRules = {
  format: 'must be 16 to 256 printable ASCII characters',
  weak: `is too easy to guess, because it repeats, counts or has few different characters: ${advice}`,
} as const;

export type SecureKeyProblem = keyof typeof secureKeyRules;

/**
 * The one policy for secure keys that are chosen: by a command, or in a bootstrap file. Generated ones have 32 characters
 * of [A-Za-z0-9]. Existing keys remain valid.
 */
export function secureKeyProblem(secureKey: string): SecureKeyProblem | undefined {
  if (!/^[\x20-\x7e]{16,256}$/.test(secureKey)) {
    return 'format';
  }
  const isWeak =
    new Set(secureKey).size < MINIMUM_DISTINCT_CHARACTERS ||
    repeats(secureKey) ||
    shareOfEqualSteps(characterCodes(secureKey)) > MAXIMUM_SHARE_OF_EQUAL_STEPS;
  return isWeak ? 'weak' : undefined;
}

/** @throws TypeError when it is not acceptable */
export function assertSecureKey(secureKey: string | undefined): void {
  const problem = secureKey === undefined ? undefined : secureKeyProblem(secureKey);
  if (problem !== undefined) {
    throw new TypeError(`The secureKey ${secureKeyRules[problem]}.`);
  }
}
