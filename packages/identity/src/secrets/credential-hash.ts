import { createHmac, createSecretKey } from 'node:crypto';
import { deriveKey, type MasterKey } from './master-key.ts';

/** HMAC-SHA-256(pepper, value), base64url: the only form in which a token, code or session id is stored. */
export type CredentialHash = (value: string) => string;

export function createCredentialHash(masterKey: MasterKey): CredentialHash {
  // As a KeyObject: a Buffer would be imported anew for every token, seven times the cost of the hash.
  const pepper = createSecretKey(deriveKey(masterKey, 'credential-pepper'));
  return (value) => createHmac('sha256', pepper).update(value).digest('base64url');
}
