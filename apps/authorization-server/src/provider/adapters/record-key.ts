import { type CredentialHash, credentialKey, grantKey } from '@gatehouse/identity';

/** A Grant's id is no credential: it stays readable, so that an operator can name it. */
export const GRANT = 'Grant';

/** Where a record of the provider's is kept: a credential under its HMAC, its value is nowhere. */
export function recordKey(model: string, id: string, credentialHash: CredentialHash): string {
  return model === GRANT ? grantKey(id) : credentialKey(model, credentialHash(id));
}
