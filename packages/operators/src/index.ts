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
 * organizations
 *   list({ search?, cursor?, limit? })                    Page<OrganizationView>
 *   read(id)                                              OrganizationView { id, name, version }
 *   previewCreation(definition)                           { removedAt? }: a removed one had this id
 *   create(operator, newOrganization, { reusesId? })      OrganizationView. Without reusesId, the id of
 *                                                         a removed one is a conflict
 *   change(operator, id, organizationChange, condition?)  OrganizationView
 *   previewRemoval(id)                                    { organizationId, clientIds, users }
 *   remove(operator, id, condition?)                      { organizationId, clients, users }
 *
 * clients
 *   list({ search?, orgId?, disabled?, cursor?, limit? }) Page<ListedClient>: ClientView with lastUsedAt?
 *   read(clientId)                                        { client: ClientView, lastUse: { at?, keys } }
 *   use(clientId)                                         { requests, refusals, rate?, practices,
 *                                                           signaturesOfKeys }
 *   create(operator, newClient)                           { client, secureKey? }: once, unless supplied
 *   previewChange(clientId, clientChange)                 { changes, movesFrom?, revokes, deletesKeys }
 *   change(operator, clientId, clientChange, condition?)  ClientView. null removes an optional member
 *   previewRemoval(clientId)                              { clientId, orgId, keys, tokens }
 *   remove(operator, clientId, condition?)                the same
 *   issueRegistrationToken(operator, allowed)             { token, expiresAt, … }: once
 *
 * clientKeys
 *   rotate(operator, clientId, { replaceOldest?, keepTokens? })
 *                                                         { client, secureKey, keyId, replacedKeyId? }
 *   remove(operator, clientId, keyId, { keepTokens?, revoke? })   ClientView
 *
 * users (by user id)
 *   list({ search?, orgId?, disabled?, cursor?, limit? }) Page<ListedUser>: UserView with lastSignInAt?
 *   find(name)                                            UserView of a username, verified address or id
 *   read(userId)                                          { user, lastSignInAt?, locks, factors,
 *                                                           sessions, applications }
 *   create(operator, newUser)                             { user, password? }: generated without one
 *   previewChange(userId, userChange)                     { movesFrom?, signsOut }
 *   change(operator, userId, userChange, condition?)      UserView. null removes an optional member
 *   setPassword(operator, userId, password?)              { user, password? }: generated without one
 *   issueResetLink(operator, userId)                      { token }: once, for /reset-password?token=
 *   invite(operator, { email, orgId }, { isMailed? })     { token }: once, for /create-account?token=
 *   withdrawInvitation(operator, email)                   ends the links of an address
 *   unlock(operator, userId)                              UserView
 *   resetFactors(operator, userId)                        UserView
 *   endSession(operator, userId, sessionId)               { clientIds }
 *   endGrants(operator, userId, clientId)                 { grantIds }
 *   previewRemoval(userId)                                { userId, username, orgId, sessions, applications }
 *   remove(operator, userId, condition?)                  the same
 *
 * tokens (target: { token } | { reference } | { clientId } | { userId } | { all: true })
 *   find(token or { reference })                          TokenView with a reference, or not_found
 *   previewRevocation(target)                             { tokens, grants, sessions, clients, users }
 *   revoke(operator, target)                              what ended
 *
 * signingKeys
 *   list()                                                per purpose: keys with state and times
 *   rotate(operator, purpose)                             publishes a successor now
 *
 * audit
 *   list({ event?, clientId?, user?, requestId?, severities?, since?, until?, cursor?, limit? })
 *                                                         Page<NamedEntry>: with current names and changes
 *   export(filter)                                        all lines, oldest first, each with the hash of the last
 *   createChain(lastHash)                                 the same, for lines that follow an export
 *
 * devices (of one organization, from the device service; undefined without its address)
 *   list(operator, orgId, { search?, state?, productId?, cursor? })
 *                                                         Page of DeviceView without metadata, configuration and tags
 *   read(operator, orgId, id)                             DeviceView
 *
 * requests
 *   list({ clientId?, code?, reason?, addressGroup?, since?, until?, cursor?, limit? })
 *                                                         Page<ExplainedRequest>: with cause and fix
 *   read(requestId)                                       { requests, audit }
 *   groups(filter)                                        [{ code?, clientId?, operation, count, first, last }]
 *   export(filter)                                        all of them, as list, without cause and fix
 *
 * settings
 *   read()                                                { settings, effective, version }
 *   previewChange(member, value)                          { changes }: before and after
 *   change(operator, member, value, condition?)           as read(). null removes an optional member
 *   changeMembers(operator, { member: value }, condition?)  the same, of several members
 *
 * declarations ({ organizations, clients, and members of the settings } of a folder of files)
 *   plan(declarations, { prune? })                        { changes: PlannedChange[], version }
 *   apply(operator, declarations, { prune? }, condition?) { done, secureKeys, notDone, failure? }
 *   export()                                              the declarations of what exists
 *
 * figures
 *   read('1h' | '24h' | '7d' | '30d')                     what both servers counted: points and totals
 *
 * findings
 *   list()                                                [{ id, severity, what, fix, objects }], errors first
 *
 * installation
 *   processes()                                           readiness, settings and routes of every process
 *   reload(operator)                                      asks processes to load their configuration again
 *   supportBundle()                                       all of this for support, without secrets and users
 *   masterKey(isCounted?)                                 { keyId, nextKeyId?, previousKeyId?, … } or undefined
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
  keyRotation,
} from './client-keys.ts';
export type { AtLeast, PracticeUse } from './client-use.ts';
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
export { type DeviceServiceSettings, type DeviceView, deviceFilter } from './devices.ts';
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
