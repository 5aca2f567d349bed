import type { PostgresServer } from '@gatehouse/testing';

export interface GeneratedData {
  readonly devices: number;
  /** The average. */
  readonly recordsEach: number;
  readonly organization: string;
}

export const PRODUCTS = 10;
/** One device of this many has all log records but one of each other device. */
export const BUSY_EVERY = 50;

/**
 * Fills a migrated database with devices of one organization: each product has a tenth of them, 60
 * % are offline, 30 % online and 10 % notActive. One statement fills a table, so a million devices
 * take a minute. Triggers of the tables count the devices.
 */
export async function generate(
  postgres: PostgresServer,
  database: string,
  { devices, recordsEach, organization }: GeneratedData,
): Promise<void> {
  const state =
    "case when i % 10 < 6 then 'offline' when i % 10 < 9 then 'online' else 'notActive' end";
  await postgres.sql(
    `insert into products (org_id, id, name, protocol, transport, metadata, create_time)
     select '${organization}', 'product-' || i, 'Product ' || i, 'mqtt', 'TCP', '{"properties":[]}', 1
     from generate_series(0, ${PRODUCTS - 1}) as i;

     insert into devices (org_id, id, product_id, name, state, connected, address, online_time,
       offline_time, create_time, register_time, configuration)
     select '${organization}', 'device-' || i, 'product-' || (i / 10 % ${PRODUCTS}),
       'Device number ' || i, ${state}, 0, '/10.0.0.1:1883', 1700000000000 + i, 0,
       1700000000000 + i, 1700000000000 + i, '{"isDebug":"false","parseType":""}'
     from generate_series(1, ${devices}) as i;

     insert into device_logs (org_id, device_id, incarnation, timestamp, id, product_id, type,
       create_time, content, message_id)
     select '${organization}', 'device-' || case when j <= ${devices} then j
         else (j % (${devices} / ${BUSY_EVERY})) * ${BUSY_EVERY} + 1 end,
       0, 1700000000000 + j, lpad(to_hex(j), 32, '0'), 'product-1', 'reportProperty',
       1700000000000 + j, '{"temperature":21.5,"humidity":40}', ''
     from generate_series(1, ${devices * recordsEach}) as j;`,
    database,
  );
  await postgres.sql('vacuum analyze', database);
}
