/**
 * Owns where devices are kept: the connection, the tables, and how they change from version to version.
 *
 *   database-url ─▶ open-database ─▶ node-sqlite-dialect (Kysely over node:sqlite)
 *                                └▶ migrate-database ─▶ migrations/ (portable schema builder)
 *
 * Queries are not here: each domain folder has its own adapter over `DeviceDatabase` (devices/sql-devices).
 */
import type { Kysely } from 'kysely';

export interface ProductTable {
  readonly org_id: string;
  readonly id: string;
  readonly name: string;
  readonly protocol: string;
  readonly transport: string;
  /** The thing model, serialised. */
  readonly metadata: string;
  readonly create_time: number;
}

/** Times are epoch milliseconds; 0 means never. */
export interface DeviceTable {
  readonly org_id: string;
  readonly id: string;
  readonly product_id: string;
  readonly name: string;
  readonly device_type: string;
  readonly state: string;
  readonly address: string;
  readonly online_time: number;
  readonly offline_time: number;
  readonly create_time: number;
  readonly register_time: number;
  /** A JSON object with string values. */
  readonly configuration: string;
}

export interface Tables {
  readonly products: ProductTable;
  readonly devices: DeviceTable;
}

export type DeviceDatabase = Kysely<Tables>;
