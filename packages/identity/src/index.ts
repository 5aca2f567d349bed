export {
  type AccessTokenVerifier,
  accessTokenKey,
  accessTokenKinds,
  type Principal,
} from './access-tokens.ts';
export { applyBootstrap } from './bootstrap/apply-bootstrap.ts';
export { type BootstrapDefinition, isAcceptablePassword } from './bootstrap/bootstrap-schema.ts';
export {
  type BootstrapSettings,
  bootstrapDefinition,
  isLoopbackUrl,
} from './bootstrap/bootstrap-source.ts';
export { type Demo, readOrCreateDemo } from './bootstrap/demo.ts';
export type { Client, SignatureAlgorithm } from './client.ts';
export { clientPrincipal } from './client-principal.ts';
export type { ClientRegistry, NewClient } from './clients.ts';
export type { CredentialHash } from './credential-hash.ts';
export {
  type IdentitySettings,
  identityVariables,
  resolveIdentitySettings,
} from './identity-settings.ts';
export { deriveKey, loadMasterKey, type MasterKey } from './master-key.ts';
export { type Identity, openIdentity } from './open-identity.ts';
export type { Organization, OrganizationRegistry } from './organizations.ts';
export { hashPassword, MAXIMUM_PASSWORD_BYTES } from './password-hash.ts';
export { PasswordHashingBusy } from './password-hashing-queue.ts';
export { createRegisteredOrigins, type RegisteredOrigins } from './registered-origins.ts';
export type { ReplayGuard, SignatureUse } from './replay-guard.ts';
export { deviceScopes, identityScopes, knownScopes, type Scope } from './scopes.ts';
export type { Sealer } from './seal.ts';
export { generateId, generateSecureKey } from './secure-key.ts';
export { loadSigningKey, type SigningKey } from './signing-keys.ts';
export { canonicalUsername, type User, type UserRegistry } from './users.ts';
export { createXAccessTokens, type XAccessTokens } from './x-access-tokens.ts';
