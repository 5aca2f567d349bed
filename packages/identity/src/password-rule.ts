import { MAXIMUM_PASSWORD_BYTES } from './password-hash.ts';

/** OWASP ASVS 6.2.1: at least eight characters. */
export const passwordRule = `must have 8 or more characters and at most ${MAXIMUM_PASSWORD_BYTES} bytes`;

export function isAcceptablePassword(password: string): boolean {
  return [...password].length >= 8 && Buffer.byteLength(password) <= MAXIMUM_PASSWORD_BYTES;
}
