/**
 * Owns where devices are kept: the connection, the tables, and how they change from version to version.
 *
 *   database-url ─▶ open-database ─▶ open-sqlite (node-sqlite-dialect)
 *                                │   open-postgres (postgres-pool ─▶ postgres-connection, one of postgres-servers)
 *                                └▶ watch-writes: whether the database accepts writes
 *                                └▶ migrate-database ─▶ migrations/, under a lock
 *   scope-to-organization: from every table to one organisation's rows, which is all that a query can reach
 *
 * Queries are not here: each domain folder has its own adapter over `OrganizationDatabase`.
 */
import type { ColumnType, Kysely } from 'kysely';

/** Read like any column, written only by `scopeToOrganization`. */
type OrganizationColumn = ColumnType<string, never, never>;

export interface ProductTable {
  readonly org_id: OrganizationColumn;
  readonly id: string;
  readonly name: string;
  readonly device_type: string;
  readonly protocol: string;
  readonly transport: string;
  /** The thing model, serialised. */
  readonly metadata: string;
  readonly create_time: number;
}

/** Times are epoch milliseconds; 0 means never. */
export interface DeviceTable {
  readonly org_id: OrganizationColumn;
  readonly id: string;
  /** Random: tells a device from an earlier one that had its id, whose log is not its own. */
  readonly incarnation: number;
  readonly product_id: string;
  readonly name: string;
  readonly state: string;
  /** 1 while a connection exists, also of a device that is not activated. */
  readonly connected: number;
  readonly address: string;
  readonly online_time: number;
  readonly offline_time: number;
  readonly create_time: number;
  readonly register_time: number;
  /** A JSON object with string values. */
  readonly configuration: string;
  /** Null: the product's. The same for `transport` and `metadata`. */
  readonly protocol: string | null;
  readonly transport: string | null;
  readonly metadata: string | null;
}

/** Kept by triggers, so that no way to change a device can forget them. Sum over `slot`. */
export interface DeviceCountTable {
  readonly org_id: OrganizationColumn;
  /** Empty: all products of the organisation. */
  readonly product_id: string;
  readonly state: string;
  /** Several rows for one count, so that concurrent writers rarely wait for each other. */
  readonly slot: number;
  readonly device_count: number;
}

export interface DeviceTagTable {
  readonly org_id: OrganizationColumn;
  readonly device_id: string;
  readonly tag_key: string;
  readonly name: string;
  readonly value: string;
  readonly type: string;
  /** May be empty. */
  readonly description: string;
  readonly create_time: number;
}

export interface DeviceLogTable {
  readonly org_id: OrganizationColumn;
  readonly device_id: string;
  readonly incarnation: number;
  /** What the device says; `create_time` is when it was stored. */
  readonly timestamp: number;
  readonly id: string;
  readonly product_id: string;
  readonly type: string;
  readonly create_time: number;
  readonly content: string;
  /** Empty where the device gave none. */
  readonly message_id: string;
}

export interface Tables {
  readonly products: ProductTable;
  readonly devices: DeviceTable;
  readonly device_counts: DeviceCountTable;
  readonly device_tags: DeviceTagTable;
  readonly device_logs: DeviceLogTable;
}

export type DatabaseEngine = 'sqlite' | 'postgres';

/** Every organisation's rows. Only migrations and the expiry of logs work on it. */
export type DeviceDatabase = Kysely<Tables>;
