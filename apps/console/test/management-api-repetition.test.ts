/** Creations that are repeated, that race, and whose store fails. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { openIdentity } from '@gatehouse/identity';
import { createLogger, observeRequests } from '@gatehouse/server';
import { createStore, StoreUnavailableError } from '@gatehouse/store';
import { wrappedStore } from '@gatehouse/testing';
import { listenForTests } from '@gatehouse/testing/suite';
import { afterAll, describe, expect, test } from '@jest/globals';
import { createApp } from '../src/app.ts';
import { type Answer, type ManagementApi, startManagementApis } from './management-api.ts';

const apis = await startManagementApis();
const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });
const outcome = ({ status, body }: Answer) => [status, body.code];

const failing = await Promise.all(
  apis.map(async ({ engine, system }) => ({ engine, system: await startFailing(system) })),
);

describe.each(apis)('a creation with an Idempotency-Key on $engine', ({ system: api }) => {
  const { identity, post, send, system, tokens } = api;
  const client = { name: 'C', orgId: 'org-1', scopes: ['device:read'] };

  test('happens once, however often it is sent at the same time', async () => {
    await post('/clients', { ...client, clientId: 'raced' });
    const key = randomUUID();
    const race = () =>
      Promise.all(Array.from({ length: 50 }, () => post('/clients/raced/keys', {}, keyed(key))));
    const replies = [...(await race()), ...(await race())];
    const created = replies.filter(({ status }) => status === 201);
    const others = replies.filter(({ status }) => status !== 201);
    expect(new Set(created.map(({ body }) => body.secureKey)).size).toBe(1);
    expect(created.length).toBeGreaterThanOrEqual(51);
    const isFirst = ({ headers }: Answer) => headers.get('idempotency-replayed') === null;
    expect(created.filter(isFirst)).toHaveLength(1);
    for (const { status, body, headers } of others) {
      expect([status, body.code, headers.get('retry-after')]).toEqual([409, 'conflict', '1']);
    }
    const found = await identity.clients.find('raced');
    expect(found && identity.clients.keyIds(found)).toHaveLength(2);
    const { body } = await send('/audit?event=client_changed&clientId=raced');
    const changes = body.items.map(({ change }: { readonly change: string }) => change);
    expect(changes).toEqual(['key_added', 'added']);
  });

  test('repeats its reply with the secret, which the store has only encrypted', async () => {
    const key = randomUUID();
    const first = await post('/clients', { ...client, clientId: 'repeated' }, keyed(key));
    const again = await post('/clients', { ...client, clientId: 'repeated' }, keyed(key));
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect(first.body.secureKey).toMatch(/^[\w-]{20,}$/);
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
    const stored = await system.storedText();
    expect([stored.includes(first.body.secureKey), stored.includes(key)]).toEqual([false, false]);
    expect(await system.output()).not.toContain(first.body.secureKey);
  });

  test('belongs to its caller and its request', async () => {
    const key = randomUUID();
    const create = (id: string, token?: string) =>
      post('/organizations', { id, name: id }, { ...keyed(key), ...(token && { token }) });
    expect(outcome(await create('first'))).toEqual([201, undefined]);
    expect(outcome(await create('second'))).toEqual([422, 'idempotency_key_reused']);
    const elsewhere = await post('/invitations', { id: 'first', name: 'first' }, keyed(key));
    expect(outcome(elsewhere)).toEqual([422, 'idempotency_key_reused']);
    const token = await api.storedToken('olga');
    expect(outcome(await create('second', token))).toEqual([201, undefined]);
    expect(outcome(await create('first', tokens.reader))).toEqual([403, 'access_denied']);
  });

  test('that was rejected leaves the key free', async () => {
    const key = randomUUID();
    const wrong = await post('/organizations', { id: 'corrected', name: '' }, keyed(key));
    expect(outcome(wrong)).toEqual([400, 'illegal_argument']);
    const corrected = await post('/organizations', { id: 'corrected', name: 'X' }, keyed(key));
    expect(outcome(corrected)).toEqual([201, undefined]);
  });
});

describe.each(failing)('a store that fails: $engine', ({ system }) => {
  const { state, send, identity } = system;

  test('is 503 with Retry-After, never 401', async () => {
    expect((await send('/organizations')).status).toBe(200);
    for (const name of ['increment', 'get', 'claim', 'membersWithPrefix']) {
      state.fails = (operation) => operation === name;
      state.now += 1000;
      const read = await send('/organizations?search=o');
      const organization = { id: name, name: 'X' };
      const created = await send('/organizations', organization, { 'idempotency-key': name });
      for (const { status, headers, body } of [read, created]) {
        if (status !== 200 && status !== 201) {
          expect([name, status, body.code]).toEqual([name, 503, 'service_unavailable']);
          expect(headers.get('retry-after')).toBe('1');
          expect(body.detail).toContain('The store is unavailable.');
        }
      }
      expect([name, [read.status, created.status].includes(503)]).toEqual([name, true]);
    }
  });

  test('leaves a creation that cannot be repeated blindly', async () => {
    state.fails = () => false;
    await send('/clients', { clientId: 'c', name: 'C', orgId: 'org-1' });
    const rotate = (key: string) => send('/clients/c/keys', {}, { 'idempotency-key': key });
    state.fails = (operation, key) => operation === 'append' && key.startsWith('audit');
    const failed = await rotate('lost');
    expect([failed.status, failed.body.detail]).toEqual([
      503,
      'The change was made, but the audit trail could not record it.',
    ]);
    state.fails = () => false;
    const running = await rotate('lost');
    expect([running.status, running.headers.get('retry-after')]).toEqual([409, '1']);
    state.now += 31_000;
    const unknown = await rotate('lost');
    expect([unknown.status, unknown.body.detail]).toEqual([
      409,
      expect.stringContaining('Find out in the audit trail whether it took effect'),
    ]);
    const found = await identity.clients.find('c');
    expect(found && identity.clients.keyIds(found)).toHaveLength(2);
    state.fails = (operation, key) => operation === 'replace' && key.startsWith('idempotency:');
    const kept = { id: 'kept', name: 'Kept' };
    const first = await send('/organizations', kept, { 'idempotency-key': 'k' });
    expect(first.status).toBe(201);
  });
});

describe.each(failing)('the limits of the API on $engine', ({ system: { send } }) => {
  test('stop a caller, and say for how long', async () => {
    const replies: Answer[] = [];
    for (let sent = 0; sent < 1300; sent += 50) {
      replies.push(...(await Promise.all(Array.from({ length: 50 }, () => send('/signing-keys')))));
    }
    const rejected = replies.filter(({ status }) => status === 429);
    expect(rejected.length).toBeGreaterThanOrEqual(100);
    const [{ headers, body } = replies[0] as Answer] = rejected;
    expect(body.detail).toBe(
      'This caller sent more than 1200 requests in a minute. Wait for the seconds in Retry-After.',
    );
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(headers.get('ratelimit')).toMatch(/^"caller";r=0;t=\d+$/);
  });
});

/** A console in this process over the same records. A test makes its store fail, and sets its clock. */
async function startFailing({ system, consoleUrl, issuer, tokens }: ManagementApi) {
  const { storeUrl, masterKey } = system;
  const opened = createStore(storeUrl);
  const state = { now: Date.now(), fails: (_operation: string, _key: string) => false };
  const store = wrappedStore(opened, (run, operation, key) =>
    state.fails(operation, key)
      ? Promise.reject(new StoreUnavailableError(operation, new Error('failing')))
      : run(),
  );
  const now = () => state.now;
  const identity = openIdentity({ store, masterKey, consoleUrl, now });
  const places = { consoleUrl, issuer, internalUrl: issuer, trustedProxies: [] };
  const app = createApp({ identity, masterKey, now, ...places });
  const logger = createLogger({ app: 'test', level: 'silent', destination: { write: () => true } });
  const port = await listenForTests(createServer(observeRequests(app, logger)));
  afterAll(() => opened.close());
  async function send(path: string, json?: unknown, headers: object = {}): Promise<Answer> {
    const reply = await fetch(`http://localhost:${port}/admin/v1${path}`, {
      ...{ method: json === undefined ? 'GET' : 'POST', body: JSON.stringify(json) ?? null },
      headers: {
        ...{ authorization: `Bearer ${tokens.writer}`, 'content-type': 'application/json' },
        ...headers,
      },
    });
    return { status: reply.status, headers: reply.headers, body: await reply.json() };
  }
  return { state, send, identity };
}
