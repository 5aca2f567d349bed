/**
 * The least that a list of devices costs with `pg` and `node:http`: one prepared query and
 * `JSON.stringify`, without authentication, log or metrics. `requests.ts` starts it.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { print } from './printing.ts';

const INT8 = 20;
const ORGANIZATION = 'read';
const PAGE_SIZE = 25;

pg.types.setTypeParser(INT8, Number);
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const text = `
  select devices.id, devices.product_id, devices.name, devices.state, devices.address,
    devices.online_time, devices.offline_time, devices.create_time, devices.register_time,
    products.name as product_name, products.device_type,
    coalesce(devices.protocol, products.protocol) as protocol,
    coalesce(devices.transport, products.transport) as transport
  from devices
  join products on products.id = devices.product_id and products.org_id = devices.org_id
  where devices.org_id = $1 order by devices.create_time desc, devices.id limit $2`;

const server = createServer(async (_request, response) => {
  const { rows } = await pool.query({ name: 'list', text, values: [ORGANIZATION, PAGE_SIZE] });
  const body = JSON.stringify(rows);
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
});
server.listen(0, '127.0.0.1', () => print(String((server.address() as AddressInfo).port)));
