import { characterCodes, repeats, shareOfEqualSteps } from './patterns.ts';

/**
 * One of 200 random keys with 16 hexadecimal digits has fewer. Of keys with 16 characters of
 * [A-Za-z0-9], practically none has.
 */
const MINIMUM_DISTINCT_CHARACTERS = 8;
const MAXIMUM_SHARE_OF_EQUAL_STEPS = 0.75;

const advice = 'let Gatehouse generate one, or use: openssl rand -hex 32';

/** Each text ends a sentence that starts with "The secureKey". */
export const secureKeyRules = {
  format: 'must be 16 to 256 printable ASCII characters',
  weak: `is too easy to guess, because it is a sequence or repetition, or has few different characters: ${advice}`,
} as const;

export type SecureKeyProblem = keyof typeof secureKeyRules;

/**
 * The policy for new secure keys in commands and bootstrap files. Existing keys stay valid.
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

/** @throws TypeError if the secure key violates the policy */
export function assertSecureKey(secureKey: string | undefined): void {
  const problem = secureKey === undefined ? undefined : secureKeyProblem(secureKey);
  if (problem !== undefined) {
    throw new TypeError(`The secureKey ${secureKeyRules[problem]}.`);
  }
}
