export type { AccessTokenVerifier, Principal } from './access-tokens.ts';
export {
  type AuditEntry,
  type AuditEvent,
  type AuditEventName,
  type AuditOrigin,
  type AuditSeverity,
  auditEvents,
  auditSeverities,
  lastTimeOf,
  type SignInMethod,
} from './audit/audit-event.ts';
export type { AuditTrail, RecordedOrigin } from './audit/audit-trail.ts';
export type { AuditFilter } from './audit/search-trails.ts';
export { applyBootstrap } from './bootstrap/apply-bootstrap.ts';
export {
  type BootstrapDefinition,
  clientSchema,
  organizationSchema,
  userSchema,
} from './bootstrap/bootstrap-schema.ts';
export {
  type BootstrapSettings,
  bootstrapDefinition,
} from './bootstrap/bootstrap-source.ts';
export {
  type Demo,
  demoDefinition,
  readDemoIfPresent,
  readOrCreateDemo,
} from './bootstrap/demo.ts';
export type { Client, SignatureAlgorithm } from './client.ts';
export type { RemovalOptions, RotatedKey, SecureKeyDescription } from './client-keys.ts';
export { clientPrincipal } from './client-principal.ts';
export type { ClientRegistry, NewClient } from './clients.ts';
export type { CredentialHash } from './credential-hash.ts';
export {
  accessTokenKey,
  accessTokenKinds,
  credentialKey,
  GRANT_LIFETIME_SECONDS,
  grantKey,
  grantMembersKey,
  grantTombstoneKey,
} from './credential-keys.ts';
export {
  type PasswordProblem,
  passwordProblem,
  passwordRules,
} from './credential-policy/password-policy.ts';
export type { OnDamagedRecord } from './damaged-record.ts';
export { identitySecretFiles } from './identity-secret-files.ts';
export {
  type IdentitySettings,
  identityVariables,
  resolveIdentitySettings,
} from './identity-settings.ts';
export { type KeptSigningKeys, keepSigningKeys } from './kept-signing-keys.ts';
export type { FindLiveHolder, IssuedCredential, LiveHolder } from './live-holder.ts';
export { deriveKey, loadMasterKey, type MasterKey } from './master-key.ts';
export { assertMasterKeyFits } from './master-key-check.ts';
export { type Identity, openIdentity } from './open-identity.ts';
export type { Organization, OrganizationRegistry } from './organizations.ts';
export { hashPassword, MAXIMUM_PASSWORD_BYTES, passwordHashingLoad } from './password-hash.ts';
export { PasswordHashingBusy } from './password-hashing-queue.ts';
export {
  demoProblems,
  type ProductionSubject,
  productionProblems,
} from './production-problems.ts';
export { RefusedChange } from './refused-change.ts';
export { createRegisteredOrigins, type RegisteredOrigins } from './registered-origins.ts';
export type { ReplayGuard, SignatureUse } from './replay-guard.ts';
export {
  type CanaryKind,
  canaryKinds,
  createRevocationCanary,
  type RevocationCanary,
} from './revocation-canary.ts';
export { nextNotBefore, type Revocations, type RevokedToken } from './revocations.ts';
export { isGrantRevoked } from './revoked-grants.ts';
export { deviceScopes, identityScopes, knownScopes, type Scope } from './scopes.ts';
export { createSealer, type Sealer } from './seal.ts';
export { generateId, generateSecureKey } from './secure-key.ts';
export type { SigningAlgorithm, SigningKey } from './signing-key.ts';
export {
  defaultSigningKeyPolicy,
  loadSigningKey,
  loadSigningKeys,
  type SigningKeyPolicy,
  type SigningKeys,
} from './signing-keys.ts';
export { canonicalUsername, type User, type UserRegistry } from './users.ts';
export { createXAccessTokens, type XAccessTokens } from './x-access-tokens.ts';
