import { randomBytes, randomInt } from 'node:crypto';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** 32 characters of [A-Za-z0-9], 190 bits: the same in Basic, form, JSON and shell without any quoting. */
export function generateSecureKey(length = 32): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

export const secureKeyRule = 'must be 16 to 256 printable ASCII characters';

export function isAcceptableSecureKey(secureKey: string): boolean {
  return /^[\x20-\x7e]{16,256}$/.test(secureKey);
}

/** A random identifier without meaning, 128 bits. */
export function generateId(): string {
  return randomBytes(16).toString('hex');
}
