import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runGatehouse } from '../apps/cli/test/run-gatehouse.ts';
import {
  type BootedGateway,
  bootGateway,
  closeUnharmed,
} from '../apps/gateway/test/booted-gateway.ts';
import { sendRaw } from '../apps/gateway/test/http-client.ts';

const REQUESTS = 200;

let booted: BootedGateway;
let directory: string;

beforeAll(async () => {
  booted = await bootGateway();
  directory = mkdtempSync(join(tmpdir(), 'gatehouse-random-'));
  writeFileSync(join(directory, 'key'), booted.secureKey);
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await closeUnharmed(booted);
});

const pick = <Item>(items: readonly [Item, ...Item[]]): Item =>
  items[randomInt(items.length)] ?? items[0];
const times = (most: number, make: () => string) =>
  Array.from({ length: randomInt(most + 1) }, make).join('');

const query = () =>
  times(6, () => pick(['a=1', '&', 'b', '=', '%20', '+', '%E4%B8%AD', '%26', 'a=2&', '%zz', ',']));
const text = () =>
  times(5, () => pick(['{"a":1}', '\n', '中', ' ', '{}', 'a=b&', '%41', '\\u00e9']));

/** A signed request. Its query may be ambiguous, and a space may be signed that is not sent. */
function randomRequest(): Buffer {
  const version = pick([1, 2]);
  const method = pick(['GET', 'POST', 'DELETE']);
  const type = pick(['application/json', 'application/x-www-form-urlencoded', 'text/plain']);
  const search = version === 2 || method !== 'POST' || pick([true, false]) ? query() : '';
  const body = method === 'POST' || pick([true, false, false, false]) ? text() : '';
  const path = pick(['/api/device', '/device-instance', '/device/a%20b']);
  const signedBody = body + pick(['', '', ' ']);
  const signed =
    version === 1
      ? booted.signed(method === 'POST' ? { body: signedBody } : { query: readable(search) })
      : booted.signedV2({ method, path, query: search, body: signedBody, contentType: type });
  const lines = [
    `${method} ${path}${search === '' ? '' : `?${search}`} HTTP/1.1`,
    'Host: gateway.example',
    'Connection: close',
    ...Object.entries({ ...signed, 'Content-Type': type }).map(
      ([name, value]) => `${name}: ${value}`,
    ),
    ...(body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

/** The signer of the tests rejects ambiguous queries. */
function readable(search: string): string {
  return /%26|%zz|^=|&=/.test(search) ? '' : search;
}

test('gatehouse verify gives the answer of the gateway for random requests', async () => {
  const seen = new Set<string>();
  for (let count = 0; count < REQUESTS; count += 1) {
    const raw = randomRequest();
    writeFileSync(join(directory, 'capture'), raw);
    const offline = await runGatehouse({ INIT_CWD: directory }, [
      ...['verify', 'capture', '--key-file', 'key', '--json'],
    ]);
    const reply = await sendRaw(booted.port, raw);
    const { code, result } = JSON.parse(reply.slice(reply.indexOf('\r\n\r\n')));
    const cause = offline.json.causes[0]?.name;
    // The gateway signs the replies to verified requests, except for repeated ones.
    const wasVerified = /^x-sign(?:-v2)?:/im.test(reply) || code === 'replayed_request';
    const found = {
      isVerified: wasVerified,
      code: wasVerified ? undefined : code,
      // The gateway examines fewer mistakes, because it tries more keys.
      cause: result?.cause ?? cause,
    };
    const { isVerified } = offline.json;
    expect([raw.toString(), { isVerified, code: offline.json.code, cause }]).toEqual([
      raw.toString(),
      found,
    ]);
    seen.add(code);
  }
  expect(seen.size).toBeGreaterThan(2);
});
