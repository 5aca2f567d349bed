export { applyBootstrap } from './bootstrap/apply-bootstrap.ts';
export {
  type BootstrapDefinition,
  organizationSchema,
  userProfileSchema,
  userSchema,
} from './bootstrap/bootstrap-schema.ts';
export {
  type Demo,
  demoDefinition,
  explorerClientId,
  readDemoIfPresent,
  readOrCreateDemo,
} from './bootstrap/demo.ts';
export {
  type BootstrapSettings,
  bootstrapDefinition,
  loadBootstrap,
} from './bootstrap/load-bootstrap.ts';
export {
  type Client,
  clientSchema,
  identityScopes,
  knownScopes,
  type Scope,
} from './clients/client.ts';
export { MAXIMUM_ACTIVE_KEYS } from './clients/client-keys.ts';
export {
  type ClientRegistry,
  createRegisteredOrigins,
  type NewClient,
  type RegisteredOrigins,
} from './clients/clients.ts';
export { redirectUriProblem } from './clients/redirect-uris.ts';
export {
  type ConnectedIdentity,
  connectIdentity,
  isStoreUnavailable,
  prepareStore,
} from './connect-identity.ts';
export {
  type IdentitySettings,
  identitySecretFiles,
  identityVariables,
  resolveIdentitySettings,
} from './identity-settings.ts';
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
} from './log/audit-event.ts';
export {
  type AuditFilter,
  type AuditTrail,
  MAXIMUM_AUDIT_ENTRIES,
  type RecordedOrigin,
} from './log/audit-trail.ts';
export { type RequestEntry, type RequestLog, requestLogResults } from './log/request-log.ts';
export { type Identity, openIdentity } from './open-identity.ts';
export {
  demoProblems,
  type ProductionSubject,
  productionProblems,
} from './production-problems.ts';
export type { Organization, OrganizationRegistry } from './records/organizations.ts';
export type { OnDamagedRecord } from './records/record.ts';
export { RejectedChangeError } from './records/record.ts';
export {
  type CanaryKind,
  canaryKinds,
  createRevocationCanary,
  type RevocationCanary,
} from './revocation-canary.ts';
export {
  deriveKeys,
  lastingKey,
  type MasterKey,
  type MasterKeys,
  masterKeyId,
} from './secrets/master-key.ts';
export { assertMasterKeyFits } from './secrets/master-key-check.ts';
export { loadMasterKey } from './secrets/master-key-file.ts';
export {
  createMasterKeyRotation,
  LONGEST_UNLISTED_SECONDS,
  type MasterKeyUse,
} from './secrets/rotate-master-key.ts';
export { createSealer, type Sealer } from './secrets/seal.ts';
export { generateId, generateSecureKey } from './secrets/secure-keys.ts';
export type { SigningAlgorithm, SigningKey } from './secrets/signing-keys.ts';
export {
  defaultSigningKeyPolicy,
  type KeptSigningKeys,
  keepSigningKeys,
  loadSigningKey,
  loadSigningKeys,
  type SigningKeyPolicy,
  type SigningKeys,
  signingKeyCreatedAt,
} from './secrets/signing-keys.ts';
export type { AccessTokenVerifier, Principal } from './tokens/access-tokens.ts';
export {
  accessTokenKey,
  accessTokenKinds,
  type CredentialHash,
  clientRecordsKey,
  credentialId,
  credentialKey,
  GRANT_LIFETIME_SECONDS,
  grantKey,
  grantMembersKey,
  grantTombstoneKey,
  userGrantsKey,
  userSessionsKey,
} from './tokens/credential-keys.ts';
export type { FindLiveHolder, IssuedCredential, LiveHolder } from './tokens/live-holder.ts';
export {
  longestBindingSeconds,
  type ReplayGuard,
  type SignatureUse,
} from './tokens/replay-guard.ts';
export {
  isGrantRevoked,
  nextNotBefore,
  type Revocations,
  type RevokedToken,
} from './tokens/revocations.ts';
export type { FindTokenKind, TokenKind } from './tokens/x-access-tokens.ts';
export {
  clientPrincipal,
  createXAccessTokens,
  type XAccessTokens,
} from './tokens/x-access-tokens.ts';
export {
  hashPassword,
  MAXIMUM_PASSWORD_BYTES,
  passwordHashingLoad,
  sharePasswordHashing,
} from './users/password-hash.ts';
export { PasswordHashingBusyError } from './users/password-hashing-queue.ts';
export {
  type PasswordProblem,
  passwordProblem,
  passwordRules,
} from './users/password-policy.ts';
export {
  accountLimit,
  createSignInLocks,
  type SignInLock,
  type SignInLocks,
} from './users/sign-in-locks.ts';
export { canonicalUsername, changedEmail, type User, type UserRegistry } from './users/user.ts';
export type { UserGrant, UserSession, UserSessions } from './users/user-sessions.ts';
