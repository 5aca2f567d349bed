import { createHmac, createSecretKey } from 'node:crypto';
import { lastingKey, type MasterKey } from './master-key.ts';

/**
 * HMAC-SHA-256(pepper, value) in base64url. Tokens, codes and session ids are stored only like
 * this.
 */
export type CredentialHash = (value: string) => string;

/** Names a token or code in the audit trail. It cannot be used as a credential. */
export const credentialId = (hashedValue: string): string => hashedValue.slice(0, 16);

export function createCredentialHash(masterKey: MasterKey): CredentialHash {
  const pepper = createSecretKey(lastingKey(masterKey, 'credential-pepper'));
  return (value) => createHmac('sha256', pepper).update(value).digest('base64url');
}
