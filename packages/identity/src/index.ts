export {
  type AuditEntry,
  type AuditEvent,
  type AuditEventName,
  type AuditOrigin,
  type AuditSeverity,
  auditEvents,
  auditSeverities,
  clientChangeNames,
  lastTimeOf,
  type SignInMethod,
  userChangeNames,
} from './audit/audit-event.ts';
export type { AuditTrail, RecordedOrigin } from './audit/audit-trail.ts';
export type { AuditFilter } from './audit/search-trails.ts';
export { MAXIMUM_AUDIT_ENTRIES } from './audit/trail-log.ts';
export { applyBootstrap } from './bootstrap/apply-bootstrap.ts';
export {
  type BootstrapDefinition,
  clientSchema,
  organizationSchema,
  userProfileSchema,
  userSchema,
} from './bootstrap/bootstrap-schema.ts';
export {
  type BootstrapSettings,
  bootstrapDefinition,
} from './bootstrap/bootstrap-source.ts';
export {
  type Demo,
  demoDefinition,
  explorerClientId,
  readDemoIfPresent,
  readOrCreateDemo,
} from './bootstrap/demo.ts';
export { loadBootstrap } from './bootstrap/load-bootstrap.ts';
export { redirectUriProblem } from './bootstrap/redirect-uri-rule.ts';
export type { Client, SignatureAlgorithm } from './clients/client.ts';
export type { RemovalOptions, RotatedKey, SecureKeyDescription } from './clients/client-keys.ts';
export { MAXIMUM_ACTIVE_KEYS } from './clients/client-keys.ts';
export type { ClientRegistry, NewClient } from './clients/clients.ts';
export { createRegisteredOrigins, type RegisteredOrigins } from './clients/registered-origins.ts';
export { identityScopes, knownScopes, type Scope } from './clients/scopes.ts';
export { type ConnectedIdentity, connectIdentity } from './connect-identity.ts';
export {
  type PasswordProblem,
  passwordProblem,
  passwordRules,
} from './credential-policy/password-policy.ts';
export { identitySecretFiles } from './identity-secret-files.ts';
export {
  type IdentitySettings,
  identityVariables,
  resolveIdentitySettings,
} from './identity-settings.ts';
export { assertMasterKeyFits } from './master-key/master-key-check.ts';
export {
  createMasterKeyRotation,
  type MasterKeyRotation,
  type MasterKeyUse,
} from './master-key/rotate-master-key.ts';
export { LONGEST_UNLISTED_SECONDS } from './master-key/sealed-records.ts';
export { type Identity, openIdentity } from './open-identity.ts';
export type { Organization, OrganizationRegistry } from './organizations/organizations.ts';
export { isStoreUnavailable, prepareStore } from './prepare-store.ts';
export {
  demoProblems,
  type ProductionSubject,
  productionProblems,
} from './production-problems.ts';
export type { OnDamagedRecord } from './records/damaged-record.ts';
export { RejectedChangeError } from './records/rejected-change-error.ts';
export { longestBindingSeconds, type ReplayGuard, type SignatureUse } from './replay-guard.ts';
export type { RequestEntry } from './request-log/request-entry.ts';
export type { RequestLog } from './request-log/request-log.ts';
export { type RequestLogResult, requestLogResults } from './request-log/request-writer.ts';
export type { RequestFilter } from './request-log/search-requests.ts';
export type { FindLiveHolder, IssuedCredential, LiveHolder } from './revocation/live-holder.ts';
export { nextNotBefore, type Revocations, type RevokedToken } from './revocation/revocations.ts';
export { isGrantRevoked } from './revocation/revoked-grants.ts';
export { type CredentialHash, credentialId } from './secrets/credential-hash.ts';
export {
  accessTokenKey,
  accessTokenKinds,
  clientRecordsKey,
  credentialKey,
  GRANT_LIFETIME_SECONDS,
  grantKey,
  grantMembersKey,
  grantTombstoneKey,
  userGrantsKey,
  userSessionsKey,
} from './secrets/credential-keys.ts';
export {
  deriveKey,
  deriveKeys,
  lastingKey,
  type MasterKey,
  type MasterKeys,
  masterKeyId,
} from './secrets/master-key.ts';
export { loadMasterKey } from './secrets/master-key-file.ts';
export { createSealer, type Sealer } from './secrets/seal.ts';
export { generateId, generateSecureKey } from './secrets/secure-key.ts';
export type { UserGrant, UserSession, UserSessions } from './sessions/user-sessions.ts';
export { type KeptSigningKeys, keepSigningKeys } from './signing-keys/kept-signing-keys.ts';
export type { SigningAlgorithm, SigningKey } from './signing-keys/signing-key.ts';
export {
  defaultSigningKeyPolicy,
  loadSigningKey,
  loadSigningKeys,
  type SigningKeyPolicy,
  type SigningKeys,
  signingKeyCreatedAt,
} from './signing-keys/signing-keys.ts';
export type { AccessTokenVerifier, Principal } from './tokens/access-tokens.ts';
export { clientPrincipal } from './tokens/client-principal.ts';
export type { FindTokenKind, TokenKind } from './tokens/token-kind.ts';
export { createXAccessTokens, type XAccessTokens } from './tokens/x-access-tokens.ts';
export {
  hashPassword,
  MAXIMUM_PASSWORD_BYTES,
  passwordHashingLoad,
  sharePasswordHashing,
} from './users/password-hash.ts';
export { PasswordHashingBusyError } from './users/password-hashing-queue.ts';
export {
  accountLimit,
  createSignInLocks,
  type SignInLock,
  type SignInLocks,
} from './users/sign-in-locks.ts';
export { canonicalUsername, changedEmail, type User, type UserRegistry } from './users/user.ts';
