import { type CredentialHash, credentialKey, grantKey } from '@gatehouse/identity';

/** The id of a Grant is not a credential. It stays readable, so that an operator can name it. */
export const GRANT = 'Grant';

/**
 * The key of a provider record. The key of a credential is its HMAC, so its value is not stored.
 */
export function recordKey(model: string, id: string, credentialHash: CredentialHash): string {
  return model === GRANT ? grantKey(id) : credentialKey(model, credentialHash(id));
}
