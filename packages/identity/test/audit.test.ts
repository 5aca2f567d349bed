// requires: redis-server

import { createStore, StoreUnavailableError } from '@gatehouse/store';
import { expect, test } from '@jest/globals';
import type { AuditEntry, AuditEvent } from '../src/index.ts';
import { severityOf } from '../src/log/audit-event.ts';
import { createAuditTrail } from '../src/log/audit-trail.ts';
import { describeOnEngines } from './engines.ts';

const START = 1_700_000_000_000;
const origin = { actor: 'test', address: '192.0.2.1', requestId: 'request-1' };
const issued = (clientId: string): AuditEvent => ({
  event: 'token_issued',
  grant: 'client_credentials',
  clientId,
});
const replayed = (clientId: string): AuditEvent => ({ event: 'request_replayed', clientId });
const refused = (clientId: string, endpoint: string): AuditEvent => ({
  event: 'client_authentication_failed',
  clientId,
  endpoint,
});
const DAY = 24 * 60 * 60 * 1000;

describeOnEngines('the audit trail', ({ openIdentity, openStore, storeUrl }) => {
  test('stores each event once, with time, parties, address, request and outcome', async () => {
    const { audit } = openIdentity(() => START);
    const clientId = 'complete';
    audit.record(
      { event: 'sign_in_failed', method: 'page', reason: 'password_wrong', clientId, userId: 'u' },
      origin,
    );
    await audit.flush();
    expect(await audit.read({ clientId, limit: 10 })).toEqual([
      {
        id: expect.stringMatching(/^[\w-]{12}$/),
        at: '2023-11-14T22:13:20.000Z',
        event: 'sign_in_failed',
        severity: 'warning',
        outcome: 'failure',
        method: 'page',
        reason: 'password_wrong',
        clientId,
        userId: 'u',
        ...origin,
      },
    ]);
  });

  test('a thousand equal events of one origin share an entry with their number and times', async () => {
    let now = START + 10_000;
    const { audit } = openIdentity(() => now);
    const event = refused('flooding', 'one');
    for (let i = 0; i < 1000; i += 1) {
      audit.record(event, { ...origin, requestId: `request-${i}` });
      now += 1;
    }
    await audit.flush();
    const [entry, ...others] = await audit.read({ clientId: 'flooding', limit: 10 });
    expect(others).toEqual([]);
    expect(entry).toMatchObject({
      event: 'client_authentication_failed',
      count: 1000,
      requestId: 'request-0',
      at: new Date(START + 10_000).toISOString(),
      lastAt: new Date(START + 10_999).toISOString(),
    });
    expect(await openIdentity(() => now).audit.read({ clientId: 'flooding', limit: 10 })).toEqual([
      entry,
    ]);
  });

  test.each([
    ['another client', { clientId: 'other' }, {}],
    ['another endpoint', { endpoint: 'revoke' }, {}],
    ['another address', {}, { address: '192.0.2.2' }],
    ['another app', {}, { actor: 'gateway' }],
  ])('events of %s are counted in a separate entry', async (name, difference, from) => {
    const { audit } = openIdentity(() => START + 30_000);
    const event = refused(`apart from ${name}`, 'token');
    audit.record(event, origin);
    audit.record({ ...event, ...difference } as AuditEvent, { ...origin, ...from });
    await audit.flush();
    const entries = await audit.read({ limit: 2 });
    expect(entries.map(({ count }) => count)).toEqual([undefined, undefined]);
    expect(entries.map(({ at }) => at)).toEqual(
      Array.from({ length: 2 }, () => new Date(START + 30_000).toISOString()),
    );
  });

  test('an origin that varies its failures gets a share of the trail, then a summary', async () => {
    const trails = [openIdentity().audit, openIdentity().audit];
    const flooder = { ...origin, address: '198.51.100.66' };
    for (let i = 0; i < 1000; i += 1) {
      trails[i % 2]?.record(refused(`varied-${i}`, 'token'), flooder);
      if (i % 20 === 19) {
        await Promise.all(trails.map((trail) => trail.flush()));
      }
    }
    const entries = (await trails[0]?.read({ limit: 10_000 }))?.filter(
      ({ address }) => address === flooder.address,
    );
    const summaries = entries?.filter(({ isSummary }) => isSummary === true) ?? [];
    // Half of 20,000 entries for 90 days: 111 per day, for both processes together.
    expect(entries?.length).toBe(111 + summaries.length);
    expect(summaries.length).toBeLessThanOrEqual(2);
    expect(summaries.reduce((sum, { count = 1 }) => sum + count, 0)).toBe(1000 - 111);
    expect(summaries[0]).toMatchObject({ event: 'client_authentication_failed' });
    expect(summaries[0]).not.toHaveProperty('clientId');

    trails[0]?.record(refused('another-user', 'token'), { ...origin, address: '192.0.2.77' });
    await trails[0]?.flush();
    expect(await trails[0]?.read({ clientId: 'another-user', limit: 10 })).toHaveLength(1);
  });

  test('anonymous noise does not displace failures of known users, alerts, changes or sign-ins', async () => {
    const { audit } = openIdentity();
    const userId = 'precious';
    await audit.write({ event: 'user_changed', userId, change: 'added' }, { actor: 'cli' });
    audit.record({ event: 'sign_in_succeeded', method: 'page', userId }, origin);
    audit.record(
      { event: 'sign_in_failed', method: 'page', reason: 'password_wrong', userId },
      origin,
    );
    audit.record({ event: 'account_locked', userId }, origin);
    await audit.flush();
    for (let group = 0; group < 260; group += 1) {
      const from = { ...origin, address: `10.0.${group >> 8}.${group & 255}` };
      for (let i = 0; i < 20; i += 1) {
        audit.record({ event: 'client_authentication_failed', endpoint: `endpoint-${i}` }, from);
      }
      await audit.flush();
    }
    const kept = await audit.read({ userId, limit: 10 });
    expect(kept.map(({ severity }) => severity).sort()).toEqual([
      'alert',
      'info',
      'notice',
      'warning',
    ]);
    const noise = await audit.read({ severities: ['noise'], limit: 10_000 });
    expect(noise.length).toBe(5000);
  });

  test.each([
    ['alert', { event: 'account_locked', userId: 'u' }],
    ['noise', { event: 'account_locked', clientId: 'c' }],
    ['warning', { event: 'sign_in_failed', method: 'page', reason: 'password_wrong', userId: 'u' }],
    ['noise', { event: 'sign_in_failed', method: 'page', reason: 'password_wrong', clientId: 'c' }],
    ['warning', { event: 'client_authentication_failed', endpoint: 'token', clientId: 'c' }],
    ['noise', { event: 'client_authentication_failed', endpoint: 'token' }],
    ['warning', { event: 'signature_refused', clientId: 'c' }],
    ['noise', { event: 'signature_refused' }],
    ['alert', { event: 'code_guessed' }],
    ['alert', { event: 'request_replayed' }],
    ['info', { event: 'token_revoked', kind: 'AccessToken', tokenIds: [] }],
    ['notice', { event: 'everything_revoked' }],
    ['notice', { event: 'bootstrap_applied', organizations: 1, clients: 2, users: 0 }],
  ] as const)('the severity is %s for %j', (severity, event) => {
    expect(severityOf(event)).toBe(severity);
  });

  test('entries that are older than the retention time are dropped', async () => {
    let now = START + 100_000_000;
    const store = openStore();
    const kept = (clientId: string) => audit.read({ clientId, limit: 10 });
    const audit = createAuditTrail({ store, now: () => now, retentionDays: 2 });
    audit.record({ event: 'request_replayed', clientId: 'retained' }, origin);
    await audit.flush();
    now += 2 * DAY - 1;
    expect(await kept('retained')).toHaveLength(1);
    now += 2;
    expect(await kept('retained')).toEqual([]);
    const longer = createAuditTrail({ store, now: () => now, retentionDays: 3 });
    expect(await longer.read({ clientId: 'retained', limit: 10 })).toHaveLength(1);
  });

  test('filters by event, client, user and time, with the newest of all trails first', async () => {
    let now = START + 1_000_000;
    const { audit } = openIdentity(() => now);
    const clientId = 'filtered';
    for (const event of [issued(clientId), replayed(clientId), issued(clientId)]) {
      audit.record(event, origin);
      await audit.flush();
      now += 1000;
    }
    const kinds = async (filter: object) =>
      (await audit.read({ clientId, limit: 10, ...filter })).map(({ event }) => event);
    expect(await kinds({})).toEqual(['token_issued', 'request_replayed']);
    expect(await kinds({ event: 'request_replayed' })).toEqual(['request_replayed']);
    expect(await kinds({ limit: 1 })).toEqual(['token_issued']);
    expect(await kinds({ userId: 'nobody' })).toEqual([]);
    const since = new Date(START + 1_001_000).toISOString();
    expect(await kinds({ since })).toEqual(['token_issued', 'request_replayed']);
    expect(await kinds({ since, until: since })).toEqual(['token_issued', 'request_replayed']);
    const early = new Date(START + 1_000_500).toISOString();
    expect(await kinds({ until: early })).toEqual(['token_issued']);
    expect(await kinds({ severities: ['alert'] })).toEqual(['request_replayed']);
    expect(await kinds({ severities: ['info', 'noise'] })).toEqual(['token_issued']);
  });

  test('a damaged line does not hide other lines', async () => {
    const { audit, store } = openIdentity();
    await audit.write(replayed('damaged'), origin);
    await store.append('audit-trail:notice', ['{"id":'], 10_000);
    await store.append('audit-trail:notice', ['{"no":"entry"}'], 10_000);
    await audit.write(replayed('damaged'), origin);
    expect(await audit.read({ clientId: 'damaged', limit: 10 })).toHaveLength(2);
  });

  test('record never fails or waits but reports lost entries; write throws', async () => {
    const store = createStore(storeUrl());
    await store.close();
    const lost: AuditEntry[] = [];
    const audit = createAuditTrail({
      store,
      now: Date.now,
      onLost: (entries) => lost.push(...entries),
    });
    // Not a promise: a caller cannot wait.
    expect(audit.record(replayed('lost'), origin)).toBeUndefined();
    expect(audit.record(issued('lost'), origin)).toBeUndefined();
    await audit.flush();
    expect(lost.map(({ event }) => event).sort()).toEqual(['request_replayed', 'token_issued']);
    await expect(audit.write(replayed('lost'), origin)).rejects.toThrow(StoreUnavailableError);
  });
});
