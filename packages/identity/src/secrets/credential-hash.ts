import { createHmac, createSecretKey } from 'node:crypto';
import { deriveKey, type MasterKey } from './master-key.ts';

/**
 * HMAC-SHA-256(pepper, value) in base64url. Tokens, codes and session ids are stored only like
 * this.
 */
export type CredentialHash = (value: string) => string;

export function createCredentialHash(masterKey: MasterKey): CredentialHash {
  // Importing a Buffer for every token would cost seven times as much as the hash.
  const pepper = createSecretKey(deriveKey(masterKey, 'credential-pepper'));
  return (value) => createHmac('sha256', pepper).update(value).digest('base64url');
}
