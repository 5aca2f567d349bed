import { readFileSync } from 'node:fs';
import { repeats, shareOfEqualSteps } from '../secrets/secure-keys.ts';
import { MAXIMUM_PASSWORD_BYTES } from './password-hash.ts';

/** OWASP ASVS 6.2.1. */
const MINIMUM_CHARACTERS = 8;
const PRODUCT_NAME = 'gatehouse';
/** Higher values are sequences such as `12345678` or repetitions of one character. */
const MAXIMUM_SHARE_OF_EQUAL_STEPS = 0.6;

const advice = 'choose a different one, such as four random words';

/** Each text ends a sentence that starts with "The password". */
export const passwordRules = {
  short: `must have at least ${MINIMUM_CHARACTERS} characters`,
  long: `must have at most ${MAXIMUM_PASSWORD_BYTES} bytes`,
  username: `must not be the username, with or without digits: ${advice}`,
  product: `must not be the name of this product, with or without digits: ${advice}`,
  common: `is one of the most common passwords: ${advice}`,
  pattern: `is a sequence or repetition: ${advice}`,
} as const;

type PasswordProblem = keyof typeof passwordRules;

/**
 * The policy for new passwords on the account page, in commands and in bootstrap files. Existing
 * passwords stay valid. NIST SP 800-63B §3.1.1.2 requires a blocklist and forbids composition
 * rules.
 */
export function passwordProblem(
  password: string,
  { username }: { readonly username: string },
): PasswordProblem | undefined {
  const compared = canonical(password);
  const isLong = Buffer.byteLength(password) > MAXIMUM_PASSWORD_BYTES;
  const isRegular = shareOfEqualSteps(compared) > MAXIMUM_SHARE_OF_EQUAL_STEPS;
  const found: Readonly<Record<PasswordProblem, boolean>> = {
    short: [...password].length < MINIMUM_CHARACTERS,
    long: isLong,
    username: isNameWithDigits(compared, canonical(username)),
    product: isNameWithDigits(compared, PRODUCT_NAME),
    common: commonPasswords.has(compared),
    pattern: isRegular || repeats(compared),
  };
  return (Object.keys(found) as PasswordProblem[]).find((problem) => found[problem]);
}

function canonical(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

/** Whether the password is the name, alone or with digits and signs such as `alice2026!`. */
function isNameWithDigits(password: string, name: string): boolean {
  const at = password.indexOf(name);
  const around = `${password.slice(0, at)}${password.slice(at + name.length)}`;
  return name !== '' && at >= 0 && !/\p{L}/u.test(around);
}

const file = new URL('common-passwords.txt', import.meta.url);

/** In lower case. The file states their source and license. */
const commonPasswords: ReadonlySet<string> = new Set(
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#')),
);
