import { randomBytes, randomInt } from 'node:crypto';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** 32 characters of [A-Za-z0-9], 190 bits: the same in Basic, form, JSON and shell without any quoting. */
export function generateSecureKey(length = 32): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

/** A random identifier without meaning, 128 bits. */
export function generateId(): string {
  return randomBytes(16).toString('hex');
}
