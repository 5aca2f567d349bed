import type { ColumnType, CompiledQuery, Kysely } from 'kysely';

/** Queries read it like any column. Only organization-database.ts writes it. */
type OrganizationColumn = ColumnType<string, never, never>;

export interface Tables {
  readonly products: {
    readonly org_id: OrganizationColumn;
    readonly id: string;
    readonly name: string;
    readonly device_type: string;
    readonly protocol: string;
    readonly transport: string;
    /** The thing model as JSON text. */
    readonly metadata: string;
    readonly create_time: number;
  };
  /** Times are epoch milliseconds; 0 means never. */
  readonly devices: {
    readonly org_id: OrganizationColumn;
    readonly id: string;
    /**
     * Random. Separates the log of this device from the log of an earlier device with the same id.
     */
    readonly incarnation: number;
    readonly product_id: string;
    readonly name: string;
    readonly state: string;
    /** 1 while a connection exists, even if the device is not activated. */
    readonly connected: number;
    readonly address: string;
    readonly online_time: number;
    readonly offline_time: number;
    readonly create_time: number;
    readonly register_time: number;
    /** A JSON object with string values. */
    readonly configuration: string;
    /** Null: the value of the product applies. Also for `transport` and `metadata`. */
    readonly protocol: string | null;
    readonly transport: string | null;
    readonly metadata: string | null;
  };
  /** Triggers maintain the counts, so every change of a device updates them. Sum over `slot`. */
  readonly device_counts: {
    readonly org_id: OrganizationColumn;
    /** Empty: all products of the organization. */
    readonly product_id: string;
    readonly state: string;
    /** One count has several rows, so that concurrent writers rarely wait for each other. */
    readonly slot: number;
    readonly device_count: number;
  };
  readonly device_tags: {
    readonly org_id: OrganizationColumn;
    readonly device_id: string;
    readonly tag_key: string;
    readonly name: string;
    readonly value: string;
    readonly type: string;
    /** May be empty. */
    readonly description: string;
    readonly create_time: number;
  };
  readonly device_logs: {
    readonly org_id: OrganizationColumn;
    readonly device_id: string;
    readonly incarnation: number;
    /** The time that the device reported. `create_time` is when the service stored the record. */
    readonly timestamp: number;
    readonly id: string;
    readonly product_id: string;
    readonly type: string;
    readonly create_time: number;
    readonly content: string;
    /** Empty: the device sent none. */
    readonly message_id: string;
  };
}

export type DatabaseEngine = 'sqlite' | 'postgres';

/** The rows of every organization. Only migrations and the expiry of logs use it. */
export type DeviceDatabase = Kysely<Tables>;

export interface OpenDatabase {
  readonly engine: DatabaseEngine;
  readonly tables: DeviceDatabase;
  /** Runs a compiled query outside of a transaction (observation.ts). */
  run(query: CompiledQuery): Promise<readonly unknown[]>;
  /** Rejects if the database does not answer. */
  ping(): Promise<void>;
  /** Rejects if the database rejected the last write, or reports that it is read-only. */
  assertWritable(): Promise<void>;
  /** Version, clock and settings, for operators. */
  about(): Promise<object>;
  close(): Promise<void>;
}
