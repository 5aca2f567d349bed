export { applyBootstrap, findInapplicable } from './bootstrap/apply-bootstrap.ts';
export {
  formatBootstrapFolder,
  readBootstrapFolder,
} from './bootstrap/bootstrap-folder.ts';
export {
  bootstrapSchema,
  bootstrapWarnings,
  type Declarations,
  declarationsSchema,
  organizationSchema,
  settingsSchemas,
} from './bootstrap/bootstrap-schema.ts';
export {
  type Demo,
  demoDefinition,
  explorerClientId,
  readDemoIfPresent,
  readOrCreateDemo,
} from './bootstrap/demo.ts';
export { bootstrapDefinition, loadBootstrap } from './bootstrap/load-bootstrap.ts';
export { builtInClient, CONSOLE_CLIENT_ID, consoleSecret } from './clients/built-in-clients.ts';
export {
  type Client,
  type ClientSettings,
  clientDefinition,
  clientSchema,
  grantFacts,
  grantNames,
} from './clients/client.ts';
export type { ClientRegistry, NewClient } from './clients/clients.ts';
export { withDeclaredScopes } from './clients/declared-scopes.ts';
export { documentHost, documentScopes } from './clients/document-clients.ts';
export {
  assertionAlgorithms,
  hasPublicKeys,
  type PublicKey,
  publicKey,
  publicKeyIds,
} from './clients/public-keys.ts';
export {
  compareRedirectUri,
  isAllowedRedirectUri,
  redirectUriProblem,
} from './clients/redirect-uris.ts';
export { type Registration, registrationTokenSchema } from './clients/registration-tokens.ts';
export {
  checkServerSettings,
  type IdentitySettings,
  identitySecretFiles,
  identityVariables,
  resolveIdentitySettings,
} from './identity-settings.ts';
export {
  type AuditEntry,
  type AuditEvent,
  type AuditOrigin,
  auditEvents,
  auditSeverities,
  clientChangeNames,
  lastTimeOf,
  type SignInMethod,
  type UserChange,
  userChangeNames,
} from './log/audit-event.ts';
export { type AuditFilter, MAXIMUM_AUDIT_ENTRIES, type RecordedOrigin } from './log/audit-trail.ts';
export {
  type AuditedChange,
  auditedChange,
  clientChangesOf,
  settingsChangesOf,
  withoutSecrets,
} from './log/audited-changes.ts';
export { type ProcessEntry, reportProcess } from './log/process-list.ts';
export { type RequestEntry, type RequestLog, requestLogResults } from './log/request-log.ts';
export {
  type CountedGroup,
  type Counts,
  durationQuantile,
  REST,
  type SeriesPoint,
} from './log/time-series.ts';
export { type Identity, openIdentity } from './open-identity.ts';
export { demoProblems, productionProblems } from './production-problems.ts';
export { type Practice, practices } from './records/last-use.ts';
export {
  memoized,
  nextNotBefore,
  parseRecord,
  RejectedChangeError,
  role,
} from './records/record.ts';
export { withRecordLock } from './records/record-lock.ts';
export type { PageQuery } from './records/record-pages.ts';
export {
  assertMasterKeyFits,
  describeMasterKey,
  examineRecords,
  finishMasterKeyRotation,
  LONGEST_UNLISTED_SECONDS,
  rotateMasterKey,
} from './rotate-master-key.ts';
export {
  accessTokenKey,
  type CredentialHash,
  clientRecordsKey,
  credentialId,
  credentialKey,
  endedSessionKey,
  endedSessionSeconds,
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
  loadMasterKey,
  type MasterKey,
  type MasterKeys,
  masterKeyId,
} from './secrets/master-key.ts';
export { createSealer } from './secrets/seal.ts';
export { generateSecureKey } from './secrets/secure-keys.ts';
export {
  defaultSigningKeyPolicy,
  type KeptSigningKeys,
  type SigningKey,
  type SigningKeyPolicy,
  type SigningKeys,
  type SigningPurpose,
  signingPurposes,
} from './secrets/signing-keys.ts';
export { readAttribute } from './settings/attributes.ts';
export { type Brand, imagesOf } from './settings/branding.ts';
export {
  BROWSER_CALLBACK_PATH,
  type BrowserHost,
  browserClientId,
  isBrowserClientId,
  originOf,
} from './settings/browser-host.ts';
export {
  grantSeconds,
  type LifetimeSettings,
  type Lifetimes,
  lifetimesOf,
} from './settings/lifetimes.ts';
export {
  isOperator,
  isOperatorApi,
  type OperatorScope,
  operatorScopes,
} from './settings/operators.ts';
export { emailDomain, isDomainAllowed, type OpenRegistration } from './settings/registration.ts';
export {
  canonicalResource,
  describeScope,
  identityScopes,
  isDeviceScope,
  isKnownScope,
  knownScopes,
  MAXIMUM_PATH_SEGMENTS,
  type Resource,
  resourceIdentifier,
  type Scope,
  scopeName,
} from './settings/resource.ts';
export { findResource, findScope, isScopeForRoles, scopesOfResource } from './settings/scopes.ts';
export {
  type SecondFactorPolicy,
  type SecondFactorSettings,
  secondFactorPolicy,
} from './settings/second-factor.ts';
export {
  membersByOrganization,
  noSettings,
  SETTINGS_KEY,
  type Settings,
  type SettingsDefinition,
  type SettingsMember,
  settingsMembers,
} from './settings/settings.ts';
export { organizationsOf, type Upstream } from './settings/upstreams.ts';
export type { AccessTokenVerifier, Principal, StoredAccessToken } from './tokens/access-tokens.ts';
export type { ActionLink, WantedLink } from './tokens/action-links.ts';
export { deliverQueues } from './tokens/delivery-queue.ts';
export { signInternalToken } from './tokens/internal-tokens.ts';
export { withJwtAccessTokens } from './tokens/jwt-access-tokens.ts';
export type { LogoutNotice } from './tokens/logout-queue.ts';
export type { QueuedMail, WantedMail } from './tokens/mail-queue.ts';
export type { OperatorAccess, OperatorRefusal } from './tokens/operator-tokens.ts';
export type { ReplayGuard } from './tokens/replay-guard.ts';
export { destroyGrant, isGrantRevoked } from './tokens/revocations.ts';
export { createUserSessions, type SessionUse } from './tokens/user-sessions.ts';
export type { ClientPrincipals, FindTokenKind, TokenKind } from './tokens/x-access-tokens.ts';
export {
  acrLevel,
  acrOfMethods,
  acrValues,
  isAcrEnough,
  ONE_FACTOR,
  reportedAcr,
  requestedAcr,
  TWO_FACTORS,
} from './users/authentication-context.ts';
export {
  type NewPasskey,
  type Passkey,
  passkeyName,
  passkeySchema,
} from './users/factor-record.ts';
export type { FactorKind } from './users/factors.ts';
export { MAXIMUM_PASSKEYS, PASSKEY_CHALLENGE_SECONDS } from './users/passkeys.ts';
export {
  hashPassword,
  MAXIMUM_PASSWORD_BYTES,
  passwordHashingLoad,
  sharePasswordHashing,
  verifyPassword,
} from './users/password-hash.ts';
export { PasswordHashingBusyError } from './users/password-hashing-queue.ts';
export { passwordProblem, passwordRules } from './users/password-policy.ts';
export { accountLimit, codeLimit, type SignInLock } from './users/sign-in-locks.ts';
export {
  canonicalUsername,
  changedEmail,
  newAccountSchema,
  type User,
  userProfileSchema,
  userSchema,
} from './users/user.ts';
