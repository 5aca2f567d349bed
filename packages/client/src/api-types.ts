/**
 * The types of the device API and of the management API, inferred from its schemas. The build replaces this file with their
 * expansion, so that the published declarations need neither that package nor zod.
 */
import type {
  BatchResult,
  DeviceRecord,
  DeviceSummaryRecord,
  deviceChangesRequest,
  IdsResult,
  LogRecordReply,
  logRecordRequest,
  newDeviceRequest,
  ProductRecord,
  productChangesRequest,
  queryRequest,
  TagRecord,
  tagRequest,
} from '@gatehouse/device-api';
import type {
  AuditQuery,
  ClientView,
  ExplainedRequest,
  RequestGroup as GroupOfRequests,
  Invitation as InvitationInput,
  KeyRemoval as KeyRemovalInput,
  KeyRotation as KeyRotationInput,
  ListedClient,
  ListedUser,
  NamedEntry,
  NewClient as NewClientInput,
  NewOrganization as NewOrganizationInput,
  NewUser as NewUserInput,
  ClientChange as OfClient,
  OrganizationChange as OfOrganization,
  RequestFilter as OfRequests,
  UserChange as OfUser,
  Operators,
  OrganizationView,
  RevocationEffect as Revoked,
  SigningKeyView,
  RevocationTarget as Target,
  TokenView,
  UserView,
} from '@gatehouse/operators';
import type { z } from 'zod';

export interface Device extends DeviceRecord {}
export interface DeviceSummary extends Partial<DeviceSummaryRecord> {}
export interface NewDevice extends z.input<typeof newDeviceRequest> {}
export interface DeviceChanges extends z.input<typeof deviceChangesRequest> {}
export interface Tag extends TagRecord {}
export interface NewTag extends z.input<typeof tagRequest> {}
export interface LogRecord extends LogRecordReply {}
/** The input of an enumerated value has no type, so this is the type of its output. */
export type NewLogRecord = Omit<z.input<typeof logRecordRequest>, 'type'> &
  Pick<z.output<typeof logRecordRequest>, 'type'>;
export interface Product extends ProductRecord {}
export interface ProductSummary extends Partial<Omit<ProductRecord, 'metadata'>> {}
export interface ProductChanges extends z.output<typeof productChangesRequest> {}
export interface Query extends z.input<typeof queryRequest> {}
export interface BatchCreation extends BatchResult {}
export interface BatchChange extends IdsResult {}

export interface Organization extends OrganizationView {}
export interface NewOrganization extends NewOrganizationInput {}
export interface OrganizationChange extends OfOrganization {}
export interface Client extends ClientView {}
export interface ClientList extends ListedClient {}
export interface ClientDetails extends ListedClient {
  /** Epoch seconds by key id. */
  readonly keyLastUsedAt: Readonly<Record<string, number>>;
}
export interface NewClient extends NewClientInput {}
export interface ClientChange extends OfClient {}
export interface KeyRotation extends KeyRotationInput {}
export interface KeyRemoval extends KeyRemovalInput {}
type Registration = Operators['clients']['issueRegistrationToken'];
export type NewRegistrationToken = Parameters<Registration>[1];
export type AdminRegistrationToken = Awaited<ReturnType<Registration>>;
export interface User extends UserView {}
export interface UserList extends ListedUser {}
type ReadUser = Awaited<ReturnType<Operators['users']['read']>>;
export interface UserDetails extends UserView, Omit<ReadUser, 'user'> {}
export interface NewUser extends NewUserInput {}
export interface UserChange extends OfUser {}
export interface Invitation extends InvitationInput {}
type MembersFilter = NonNullable<Parameters<Operators['clients']['list']>[0]>;
export interface ListFilter extends Omit<MembersFilter, 'cursor'> {}
export type TokenDescription = TokenView;
export type RevocationTarget = Target;
export interface RevocationEffect extends Revoked {}
export interface SigningKey extends SigningKeyView {}
type EntryMember = 'id' | 'at' | 'lastAt' | 'actor' | 'operator' | 'session' | 'address';
/** The other members depend on the event. */
export interface AuditEntry extends Pick<NamedEntry, EntryMember> {
  readonly event: string;
  readonly severity: string;
  readonly outcome: string;
  readonly [member: string]: unknown;
}
export type AuditFilter = Omit<AuditQuery, 'cursor'>;
export interface RequestRecord extends Omit<ExplainedRequest, 'explanation'> {
  readonly explanation?: { readonly stage: string; readonly cause: string; readonly fix: string };
}
export type RequestFilter = Omit<OfRequests, 'cursor'>;
export interface RequestGroup extends GroupOfRequests {}
/** The members are those of a bootstrap file, without secrets. */
export interface Settings {
  readonly version: string;
  readonly settings: Readonly<Record<string, unknown>>;
}
export interface SettingsDetails extends Settings {
  readonly effective: Readonly<Record<string, unknown>>;
}
