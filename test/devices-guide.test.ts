// requires: curl
/** Runs every command of docs/devices.md in order. */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { basic, type Constellation, startConstellation } from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { codeBlock, readDocument } from './documents.ts';

const guide = readDocument('docs/devices.md');
const directory = temporaryFolder();
/** The variables and functions that earlier commands defined in the shell. */
const session = join(directory, 'session');
const secureKey = 'deviceTeamKey0123456789a';

let system: Constellation;

beforeAll(async () => {
  const client = (clientId: string, orgId: string) => ({
    clientId,
    name: clientId,
    orgId,
    secureKey,
    grantTypes: ['client_credentials'],
    scopes: ['device:read', 'device:write', 'device:log', 'device:report'],
  });
  system = await startConstellation({
    engine: 'sqlite',
    bootstrap: {
      organizations: [
        { id: 'acme', name: 'Acme' },
        { id: 'other', name: 'Other' },
      ],
      clients: [client('devices', 'acme'), client('strangers', 'other')],
    },
  });
  const [own, other] = await Promise.all([tokenOf('devices'), tokenOf('strangers')]);
  writeFileSync(session, `ACCESS_TOKEN=${own}\nOTHER_TOKEN=${other}\n`);
  run('setup');
});
afterAll(async () => {
  await system.stop();
});

async function tokenOf(clientId: string): Promise<string> {
  const reply = await fetch(`${system.authorizationServerUrl}/token`, {
    method: 'POST',
    headers: { Authorization: basic(clientId, secureKey) },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  return String(Reflect.get((await reply.json()) as object, 'access_token'));
}

function block(heading: string): string {
  return codeBlock(guide, heading).replaceAll('http://localhost:8844', system.gatewayUrl);
}

/** Runs a block of the guide after the earlier blocks. */
function run(name: string): string {
  const script = `set -eu\n. "$1"\n${block(`sh ${name}`)}\ndeclare -p ACCESS_TOKEN OTHER_TOKEN API > "$1"\ndeclare -f >> "$1"`;
  return execFileSync('bash', ['--norc', '-c', script, 'guide', session], { encoding: 'utf8' });
}

interface Envelope {
  readonly status: number;
  readonly code: string;
  readonly timestamp: number;
  readonly result?: unknown;
}

/** The envelope of each reply of a block, without headers. */
function answers(name: string, output: string = run(name)): readonly Envelope[] {
  return output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Envelope);
}

const results = (name: string) => answers(name).map(({ result }) => result);

const shown = (name: string) => JSON.parse(block(`json ${name}`));

const state = (value: string) => ({ state: expect.objectContaining({ value }) });

describe('docs/devices.md', () => {
  test('creates a device, and shows the stored device', () => {
    const [reply] = answers('create');
    const times = { createTime: expect.any(Number), registerTime: expect.any(Number) };
    expect(reply).toEqual({
      ...shown('envelope'),
      timestamp: expect.any(Number),
      result: { ...shown('stored'), ...times },
    });
    expect(answers('create')).toMatchObject([{ status: 400, code: 'duplicate_key' }]);
  });

  test('deploys, connects and disconnects it', () => {
    const [deployed, , connected, , disconnected] = results('connect');
    const never = { onlineTime: 0, offlineTime: 0 };
    expect(deployed).toMatchObject({ ...state('offline'), ...never, address: '/' });
    expect(connected).toMatchObject({ ...state('online'), address: '192.0.2.7:1883' });
    expect(disconnected).toMatchObject({ ...state('offline'), address: '192.0.2.7:1883' });
    expect(disconnected).not.toMatchObject({ offlineTime: 0 });
  });

  test('deletes it only while it is notActive', () => {
    const replies = answers('delete');
    expect(replies).toMatchObject([
      { status: 400, code: 'illegal_argument', result: [{ property: 'state' }] },
      { status: 200, result: state('notActive') },
      { status: 200 },
    ]);
    expect(replies[2]).not.toHaveProperty('result');
  });

  test('creates many, and reports failures', () => {
    expect(results('batch')).toEqual([shown('batched')]);
  });

  test('changes only the given members', () => {
    expect(results('update')).toMatchObject([
      { name: 'Second pump', configuration: { isHexLog: 'true' } },
    ]);
  });

  test('queries with a body, with parameters and with a text, and counts', () => {
    const output = run('query');
    const [body, parameters, text, list, count] = answers('query', output).map(
      ({ result }) => result,
    );
    expect(body).toMatchObject({ pageIndex: 0, pageSize: 10, total: 1, data: [{ id: 'pump-2' }] });
    expect([parameters, text]).toEqual([body, body]);
    expect(list).toEqual([{ id: 'pump-2', name: 'Second pump', ...state('notActive') }]);
    expect(output).toMatch(/^x-total-count: 2\r$/im);
    expect(count).toBe(2);
  });

  test('finds the same devices with terms and with a text', () => {
    const [terms, text] = results('terms');
    expect(terms).toMatchObject({ total: 1, data: [{ id: 'pump-2' }] });
    expect(text).toEqual(terms);
  });

  test('shows the reply to an invalid query', () => {
    expect(answers('refused')).toEqual([{ ...shown('refusal'), timestamp: expect.any(Number) }]);
  });

  test('sets, lists and removes a tag', () => {
    const [set, listed, removed] = answers('tags');
    const tag = { id: 'pump-2:site', name: 'site', value: 'Hall 4', type: 'string' };
    expect(set?.result).toMatchObject([tag]);
    expect(listed?.result).toEqual(set?.result);
    expect(removed).toMatchObject({ status: 200 });
    expect(removed).not.toHaveProperty('result');
  });

  test('reports to the log and reads it', () => {
    const output = run('report');
    const [one, many, newest, found] = answers('report', output).map(({ result }) => result);
    const own = { id: expect.any(String), createTime: expect.any(Number) };
    expect(one).toEqual({ ...shown('record'), ...own, timestamp: expect.any(Number) });
    expect(many).toMatchObject([{ content: 'too hot' }, { content: 'cooled down' }]);
    expect(newest).toMatchObject([{ content: 'cooled down' }, { content: 'too hot' }]);
    expect(output).toMatch(/^x-total-count: 3\r$/im);
    expect(found).toMatchObject({ total: 1, data: [one] });
  });

  test('changes a product for its devices', () => {
    const [changed, read, found, device] = results('products');
    expect(changed).toMatchObject({ id: 'pump', protocol: 'mqtt', transport: 'TCP' });
    expect(read).toEqual(changed);
    expect(found).toMatchObject({ total: 1, data: [{ id: 'pump' }] });
    expect(found).not.toMatchObject({ data: [{ orgId: 'acme' }] });
    const deviceType = { value: 'gateway' };
    expect(device).toMatchObject({ protocol: 'mqtt', transport: 'TCP', deviceType });
  });

  test('shows nothing of another organization', () => {
    expect(answers('elsewhere')).toMatchObject([
      { status: 404, code: 'not_found' },
      { status: 200, result: { id: 'pump-2', name: 'Ours', orgId: 'other' } },
    ]);
  });
});
