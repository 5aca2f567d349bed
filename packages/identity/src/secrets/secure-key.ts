import { randomBytes, randomInt } from 'node:crypto';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** 32 characters (190 bits) that need no escaping in Basic, forms, JSON and shells. */
export function generateSecureKey(length = 32): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

/** A random identifier with 128 bits. */
export function generateId(): string {
  return randomBytes(16).toString('hex');
}
