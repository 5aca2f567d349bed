/** What the overview of the console shows: findings about records, figures, and neighbors of a request. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { openIdentity, type RequestEntry } from '@gatehouse/identity';
import { createStore, StoreFullError } from '@gatehouse/store';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { expect, test } from '@jest/globals';
import { examineStore, type NewClient, openOperators } from '../src/index.ts';
import { describeOnBothEngines, operator } from './opened-operators.ts';

const DAY = 24 * 60 * 60 * 1000;

function openWithClock() {
  const store = createStore(`sqlite:${join(temporaryFolder(), 'store.sqlite')}`);
  const clock = { now: Date.now() - 400 * DAY };
  const now = () => clock.now;
  const consoleUrl = 'http://localhost:9020';
  const identity = openIdentity({ store, masterKey: randomBytes(32), consoleUrl, now });
  const warnings: string[] = [];
  const storeWarnings = () => warnings;
  const operators = openOperators(identity, { now, storeWarnings });
  return { store, identity, operators, clock, warnings };
}

const machine = (clientId: string, more: Partial<NewClient> = {}): NewClient => ({
  ...{ clientId, name: `Client ${clientId}`, orgId: 'acme' },
  ...{ grantTypes: ['client_credentials'], scopes: ['device:read'], ...more },
});

test('findings name the objects that have them, errors first, and are examined again', async () => {
  const { store, identity, operators, clock, warnings } = openWithClock();
  await operators.organizations.create(operator, { id: 'acme', name: 'Acme' });
  await identity.settings.apply({ operators: { roles: ['operations'] } });
  await operators.clients.create(operator, machine('md5', { signatureAlgorithm: 'MD5' }));
  await operators.clients.create(operator, machine('off', { signatureAlgorithm: 'MD5' }));
  await operators.clients.change(operator, 'off', { enabled: false });
  await operators.clients.create(operator, machine('silent'));
  await operators.clients.create(operator, machine('busy'));
  const keyOf = async (clientId: string) =>
    (await operators.clients.read(clientId)).client.keys[0]?.keyId;
  const person = { name: 'Olga', orgId: 'acme', password: 'correct horse battery' };
  const { user } = await operators.users.create(operator, {
    ...person,
    username: 'olga',
    roles: ['operations'],
  });
  await operators.users.create(operator, { ...person, username: 'pia', roles: ['user'] });
  const fresh = await operators.findings.list();
  expect(fresh.map(({ id, objects }) => [id, objects.map((each) => each.id)])).toEqual([
    ['operator_has_one_factor', [user.userId]],
    ['client_uses_md5', ['md5']],
  ]);

  clock.now += 370 * DAY;
  identity.lastUse.noteClient('busy', await keyOf('busy'));
  warnings.push('Redis has no append-only file.');
  await identity.timeSeries.add('gateway', { reasons: new Map([['token_in_query', 3]]) });
  expect(await operators.findings.list()).toBe(fresh);
  // The list of before is the answer until the new one is complete.
  while ((await operators.findings.list()) === fresh) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  const found = await operators.findings.list();
  const of = (id: string) => found.find((each) => each.id === id);
  expect(of('key_unused')?.objects).toEqual([
    { kind: 'client', id: 'md5', name: 'Client md5', keyId: await keyOf('md5') },
    { kind: 'client', id: 'silent', name: 'Client silent', keyId: await keyOf('silent') },
  ]);
  expect(of('key_old')?.objects.map(({ id }) => id)).toEqual(['busy']);
  expect(of('store_may_lose_writes')?.what).toBe('Redis has no append-only file.');
  expect(of('token_in_query')?.what).toBe('Requests within seven days: 3.');
  expect(found[0]?.severity).toBe('error');
  const ping = () => Promise.reject(new StoreFullError('ping', undefined));
  expect(await examineStore({ store: { ...store, ping } }, [])).toMatchObject([
    { id: 'store_nearly_full', what: 'The store uses 100 % of its space.' },
  ]);
  await store.close();
});

describeOnBothEngines('the overview', (opened) => {
  test('figures combine both servers in points of equal length', async () => {
    const { identity, operators } = opened();
    const durations = new Map([
      ['0.005', 90],
      ['0.01', 90],
      ['0.1', 100],
      ['+Inf', 100],
    ]);
    await identity.timeSeries.add('gateway', {
      durations,
      outcomes: new Map([
        ['success', 90],
        ['refused', 10],
      ]),
      reasons: new Map([['token_expired', 10]]),
      clients: new Map([['__proto__', 1]]),
    });
    await identity.timeSeries.add('authorization-server', {
      outcomes: new Map([['success', 5]]),
      tokens: new Map([['client_credentials', 5]]),
    });
    for (const [period, points] of [
      ['1h', 60],
      ['24h', 96],
      ['7d', 56],
      ['30d', 60],
    ] as const) {
      const figures = await operators.figures.read(period);
      expect([period, figures.points.length]).toEqual([period, points]);
      expect(figures.outcomes).toEqual([
        { name: 'success', count: 95 },
        { name: 'refused', count: 10 },
      ]);
      expect(figures.reasons).toEqual([{ name: 'token_expired', count: 10 }]);
      expect(figures.clients).toEqual([{ name: '__proto__', count: 1 }]);
      expect(figures.points.at(-1)?.tokens).toEqual({ client_credentials: 5 });
      expect(figures.p50).toBeLessThan(5);
      expect(figures.p99).toBeGreaterThan(10);
    }
    await expect(operators.figures.read('2h' as '1h')).rejects.toMatchObject({
      code: 'illegal_argument',
    });
  });

  test('the neighbors of a request are those of its client, otherwise of its network', async () => {
    const { identity, operators } = opened();
    const at = Date.now();
    const entry = (offset: number, more: Partial<RequestEntry> = {}): RequestEntry => ({
      ...{ at: at + offset, requestId: `neighbor-${offset}`, app: 'gateway', operation: 'x' },
      ...{ verified: false, aborted: false, durationMs: 1, addressGroup: '192.0.2.7' },
      ...{ status: 401, reason: 'token_expired', code: 'unauthorized', ...more },
    });
    for (const offset of [-40 * 60_000, -3000, -2000, 0, 1000]) {
      identity.requestLog.record(entry(offset, { clientId: 'caller', verified: true }));
    }
    identity.requestLog.record(entry(-1));
    identity.requestLog.record(entry(2));
    await identity.requestLog.flush();
    const neighborsOf = async (id: string) => {
      const [found] = (await operators.requests.read(id)).requests;
      const neighbors = found === undefined ? [] : await operators.requests.neighbors(found);
      return neighbors.map(({ requestId }) => requestId);
    };
    expect(await neighborsOf('neighbor-0')).toEqual([
      ...['neighbor-1000', 'neighbor--2000', 'neighbor--3000'],
    ]);
    expect((await neighborsOf('neighbor--1')).includes('neighbor-2')).toBe(true);
  });
});
