import { MAXIMUM_PASSWORD_BYTES } from '../users/password-hash.ts';
import { commonPasswords } from './common-passwords.ts';
import { characterCodes, repeats, shareOfEqualSteps } from './patterns.ts';

/** OWASP ASVS 6.2.1. */
const MINIMUM_CHARACTERS = 8;
const PRODUCT_NAME = 'gatehouse';
/** Above it, a password counts (`12345678`) or repeats one character. */
const MAXIMUM_SHARE_OF_EQUAL_STEPS = 0.6;

const advice = 'choose another one, such as four random words';

/** What is wrong with a password and how to fix it: the end of a sentence that begins with "The password". */
export const passwordRules = {
  short: `must have at least ${MINIMUM_CHARACTERS} characters`,
  long: `must have at most ${MAXIMUM_PASSWORD_BYTES} bytes`,
  username: `must not be the username, with or without digits: ${advice}`,
  product: `must not be the name of this product, with or without digits: ${advice}`,
  common: `is one of the most common passwords: ${advice}`,
  pattern: `repeats or counts: ${advice}`,
} as const;

export type PasswordProblem = keyof typeof passwordRules;

/**
 * The one policy for passwords that are set: on the account page, by a command, in a bootstrap file. A password that was
 * set earlier goes on working (NIST SP 800-63B §3.1.1.2: a blocklist, and no rules of composition).
 */
export function passwordProblem(
  password: string,
  { username }: { readonly username: string },
): PasswordProblem | undefined {
  if ([...password].length < MINIMUM_CHARACTERS) {
    return 'short';
  }
  if (Buffer.byteLength(password) > MAXIMUM_PASSWORD_BYTES) {
    return 'long';
  }
  const compared = canonical(password);
  if (isNameWithDigits(compared, canonical(username))) {
    return 'username';
  }
  if (isNameWithDigits(compared, PRODUCT_NAME)) {
    return 'product';
  }
  if (commonPasswords.has(compared)) {
    return 'common';
  }
  const counts = shareOfEqualSteps(characterCodes(compared)) > MAXIMUM_SHARE_OF_EQUAL_STEPS;
  return counts || repeats(compared) ? 'pattern' : undefined;
}

function canonical(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

/** The name itself, or with digits and signs around it: `alice2026!`. */
function isNameWithDigits(password: string, name: string): boolean {
  const at = password.indexOf(name);
  const around = `${password.slice(0, at)}${password.slice(at + name.length)}`;
  return name !== '' && at >= 0 && !/\p{L}/u.test(around);
}
