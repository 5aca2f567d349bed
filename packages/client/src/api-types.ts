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
import type * as Operations from '@gatehouse/operators';
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

export interface Organization extends Operations.OrganizationView {}
export interface NewOrganization extends Operations.NewOrganization {}
export interface OrganizationChange extends Operations.OrganizationChange {}
export interface Client extends Operations.ClientView {}
export interface ClientList extends Operations.ListedClient {}
export interface ClientDetails extends Operations.ListedClient {
  /** Epoch seconds by key id. */
  readonly keyLastUsedAt: Readonly<Record<string, number>>;
}
type OrganizationActs = Operations.Operators['organizations'];
export type OrganizationRemovalEffect = Awaited<ReturnType<OrganizationActs['previewRemoval']>>;
export type OrganizationRemoval = Awaited<ReturnType<OrganizationActs['remove']>>;
type ClientActs = Operations.Operators['clients'];
export type ClientChangeEffect = Awaited<ReturnType<ClientActs['previewChange']>>;
export type ClientRemoval = Awaited<ReturnType<ClientActs['remove']>>;
export type AddedKey = Awaited<ReturnType<Operations.Operators['clientKeys']['rotate']>>;
export interface NewClient extends Operations.NewClient {}
export interface ClientChange extends Operations.ClientChange {}
export interface KeyRotation extends Operations.KeyRotation {}
export interface KeyRemoval extends Operations.KeyRemoval {}
type Registration = ClientActs['issueRegistrationToken'];
export type NewRegistrationToken = Parameters<Registration>[1];
export type AdminRegistrationToken = Awaited<ReturnType<Registration>>;
export interface User extends Operations.UserView {}
export interface UserList extends Operations.ListedUser {}
type UserActs = Operations.Operators['users'];
type ReadUser = Awaited<ReturnType<UserActs['read']>>;
export type UserRemoval = Awaited<ReturnType<UserActs['remove']>>;
export interface UserDetails extends Operations.UserView, Omit<ReadUser, 'user'> {}
export interface NewUser extends Operations.NewUser {}
export interface UserChange extends Operations.UserChange {}
export interface Invitation extends Operations.Invitation {}
type MembersFilter = NonNullable<Parameters<ClientActs['list']>[0]>;
export interface ListFilter extends Omit<MembersFilter, 'cursor'> {}
export type TokenDescription = Operations.TokenView;
export type RevocationTarget = Operations.RevocationTarget;
export interface RevocationEffect extends Operations.RevocationEffect {}
export interface SigningKey extends Operations.SigningKeyView {}
type EntryMember = 'id' | 'at' | 'lastAt' | 'actor' | 'operator' | 'session' | 'address';
/** The other members depend on the event. */
export interface AuditEntry extends Pick<Operations.NamedEntry, EntryMember> {
  readonly event: string;
  readonly severity: string;
  readonly outcome: string;
  readonly [member: string]: unknown;
}
export type AuditFilter = Omit<Operations.AuditQuery, 'cursor'>;
export interface RequestRecord extends Omit<Operations.ExplainedRequest, 'explanation'> {
  readonly explanation?: { readonly stage: string; readonly cause: string; readonly fix: string };
}
export type RequestFilter = Omit<Operations.RequestFilter, 'cursor'>;
export interface RequestGroup extends Operations.RequestGroup {}
/** As in a bootstrap file, without secure keys and users. */
export interface Declarations {
  readonly organizations?: readonly NewOrganization[];
  readonly clients?: readonly Omit<Operations.NewClient, 'secureKey'>[];
  /** Of the settings. */
  readonly [member: string]: unknown;
}
export interface DeclarationsChange extends Declarations {
  /** Also remove what is not declared. */
  readonly prune?: boolean;
}
type DeclarationActs = Operations.Operators['declarations'];
export type DeclarationsPlan = Awaited<ReturnType<DeclarationActs['plan']>>;
export type AppliedDeclarations = Omit<Operations.Applied, 'failure'>;
/** The members are those of a bootstrap file, without secrets. */
export interface Settings {
  readonly version: string;
  readonly settings: Readonly<Record<string, unknown>>;
}
export interface SettingsDetails extends Settings {
  readonly effective: Readonly<Record<string, unknown>>;
}
