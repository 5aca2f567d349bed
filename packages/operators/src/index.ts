/**
 * What operators do, in one place. The command line, the management API and the console are thin
 * layers over it.
 *
 *   const operators = openOperators(identity);
 *   const { client, secureKey } = await operators.clients.create(operator, definition);
 *
 * Operator      { actor, operator?, session?, address?, requestId? }: who acts, as the audit trail
 *               stores it. The command line: { actor: 'cli', operator: 'root' }. The API and the
 *               console: { actor: 'console', operator: user or client id, session, address, requestId }.
 * OperatorError an ApiError with a code of the catalogue: illegal_argument (`result` lists every
 *               { property, message }), not_found, duplicate_key, conflict, precondition_failed.
 *               StoreUnavailableError passes unchanged.
 * Page          { items, next? } from { cursor?, limit? }. `next` is the cursor of the next page. A
 *               page can have fewer items than `limit`, and even none, although there are more.
 * Condition     { ifVersion? }: the `version` of the representation that the operator saw. A changed
 *               record is precondition_failed, decided under the lock of the record.
 * previewX      returns what `x` with the same arguments would do. It changes nothing, and throws what
 *               `x` would throw for them.
 *
 * Every schema is zod, with the same name as its type in lower case: clientView is the schema of
 * ClientView. No representation contains a secret. Keys are named by id. Times are epoch seconds,
 * those of the request log epoch milliseconds, and those of the audit trail ISO 8601.
 *
 * operators.ts names the subjects. The factory of each subject describes its acts.
 */
export {
  type AuditQuery,
  auditFilter,
  createExportChain,
  hashOfLine,
  type LineHash,
  type NamedEntry,
  withNames,
} from './audit.ts';
export {
  type KeyRemoval,
  type KeyRotation,
  keyRemoval,
  keyRotation,
} from './client-keys.ts';
export {
  type ClientChange,
  type ClientView,
  clientChange,
  clientView,
  type ListedClient,
  listedClient,
  type NewClient,
  newClient,
  type RegistrationTokenInput,
} from './clients.ts';
export type { Applied } from './declarations.ts';
export { type PlannedChange, plannedChange } from './declared-changes.ts';
export { type DeviceView, deviceFilter } from './devices.ts';
export { type Figures, figurePeriod } from './figures.ts';
export {
  errorsFirst,
  examineRecords,
  examineStore,
  type FoundObject,
  findingAdvice,
  findingSeverities,
  type RecordFinding,
} from './findings.ts';
export type { MasterKeyState } from './installation.ts';
export {
  type Condition,
  invalidInput,
  memberFilter,
  type Operator,
  OperatorError,
  type Page,
  parseInput,
} from './operator.ts';
export { type Operators, openOperators } from './operators.ts';
export {
  type NewOrganization,
  newOrganization,
  type OrganizationChange,
  type OrganizationView,
  organizationChange,
  organizationView,
} from './organizations.ts';
export {
  type ExplainedRequest,
  type RequestFilter,
  type RequestGroup,
  requestFilter,
} from './requests.ts';
export { settingsMember } from './settings.ts';
export { type SigningKeyView, signingKeyView, signingPurpose } from './signing-keys.ts';
export {
  type RevocationEffect,
  type RevocationTarget,
  revocationEffect,
  revocationTarget,
  type TokenView,
  tokenView,
} from './tokens.ts';
export { type Invitation, invitation } from './user-access.ts';
export {
  type ListedUser,
  listedUser,
  type NewUser,
  newUser,
  type UserChange,
  type UserView,
  userChange,
  userView,
} from './users.ts';
