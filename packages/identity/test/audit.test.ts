// requires: redis-server
import { setTimeout as sleep } from 'node:timers/promises';
import { createStore, type Store, StoreUnavailable } from '@gatehouse/store';
import { expect, test } from '@jest/globals';
import { createAuditTrail } from '../src/audit/audit-trail.ts';
import type { AuditEntry, AuditEvent } from '../src/index.ts';
import { describeOnBothEngines } from './on-both-engines.ts';

const START = 1_700_000_000_000;
const origin = { actor: 'test', address: '192.0.2.1', requestId: 'request-1' };
const issued = (clientId: string): AuditEvent => ({
  event: 'token_issued',
  grant: 'client_credentials',
  clientId,
});
const locked = (clientId: string): AuditEvent => ({ event: 'account_locked', clientId });

describeOnBothEngines('the audit trail', ({ openIdentity, openStore, storeUrl }) => {
  test('SL-09 keeps each event once, with time, parties, address, request and outcome', async () => {
    const { audit } = openIdentity(() => START);
    const clientId = 'complete';
    audit.record(
      { event: 'sign_in_failed', method: 'page', reason: 'credentials', clientId, userId: 'u' },
      origin,
    );
    await audit.flush();
    expect(await audit.read({ clientId, limit: 10 })).toEqual([
      {
        id: expect.stringMatching(/^[\w-]{12}$/),
        at: '2023-11-14T22:13:20.000Z',
        event: 'sign_in_failed',
        outcome: 'failure',
        method: 'page',
        reason: 'credentials',
        clientId,
        userId: 'u',
        ...origin,
      },
    ]);
  });

  test('what happens by the thousand is stored together, in order, and read one by one', async () => {
    let now = START;
    const store = openStore();
    let appends = 0;
    const counting: Store = new Proxy(store, {
      get(target, name) {
        appends += name === 'append' ? 1 : 0;
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
    const audit = createAuditTrail({ store: counting, now: () => now });
    for (let i = 0; i < 1000; i += 1) {
      now += 1;
      audit.record({ ...issued('busy'), scope: String(i) } as AuditEvent, origin);
    }
    await audit.flush();
    expect(appends).toBe(Math.ceil(1000 / 32));
    const entries = await audit.read({ clientId: 'busy', limit: 2000 });
    const scopes = entries.map((entry) => Number((entry as { scope?: string }).scope));
    expect(scopes).toEqual(Array.from({ length: 1000 }, (_, i) => 999 - i));
    expect(new Set(entries.map(({ id }) => id)).size).toBe(1000);
  });

  test('a lonely event is stored within a moment, without a flush', async () => {
    const identity = openIdentity();
    identity.audit.record(issued('lonely'), origin);
    await sleep(200);
    expect(await openIdentity().audit.read({ clientId: 'lonely', limit: 1 })).toHaveLength(1);
  });

  test('a flood of one kind does not push out another', async () => {
    const { audit, store } = openIdentity();
    await audit.write(
      { event: 'client_changed', clientId: 'flooded', change: 'disabled' },
      { actor: 'cli' },
    );
    for (let i = 0; i < 300; i += 1) {
      audit.record(locked('flooded'), origin);
    }
    await audit.flush();
    expect(await store.read('audit:changes', 5)).toHaveLength(1);
    const newest = await audit.read({ clientId: 'flooded', event: 'client_changed', limit: 1 });
    expect(newest).toHaveLength(1);
  });

  test('filters by event, client, user and time, newest first over all trails', async () => {
    let now = START + 1_000_000;
    const { audit } = openIdentity(() => now);
    const clientId = 'filtered';
    for (const event of [issued(clientId), locked(clientId), issued(clientId)]) {
      audit.record(event, origin);
      await audit.flush();
      now += 1000;
    }
    const kinds = async (filter: object) =>
      (await audit.read({ clientId, limit: 10, ...filter })).map(({ event }) => event);
    expect(await kinds({})).toEqual(['token_issued', 'account_locked', 'token_issued']);
    expect(await kinds({ event: 'account_locked' })).toEqual(['account_locked']);
    expect(await kinds({ limit: 1 })).toEqual(['token_issued']);
    expect(await kinds({ userId: 'nobody' })).toEqual([]);
    const since = new Date(START + 1_001_000).toISOString();
    expect(await kinds({ since })).toEqual(['token_issued', 'account_locked']);
  });

  test('a damaged line hides nothing else', async () => {
    const { audit, store } = openIdentity();
    await audit.write(locked('damaged'), origin);
    await store.append('audit:security', '[{"id":', 10_000);
    await store.append('audit:security', '{"no":"array"}', 10_000);
    await audit.write(locked('damaged'), origin);
    expect(await audit.read({ clientId: 'damaged', limit: 10 })).toHaveLength(2);
  });

  test('recording never fails or waits: what cannot be stored is handed on; writing says so', async () => {
    const store = createStore(storeUrl());
    await store.close();
    const lost: AuditEntry[] = [];
    const audit = createAuditTrail({
      store,
      now: Date.now,
      onLost: (entries) => lost.push(...entries),
    });
    const started = performance.now();
    audit.record(locked('lost'), origin);
    audit.record(issued('lost'), origin);
    expect(performance.now() - started).toBeLessThan(100);
    await audit.flush();
    expect(lost.map(({ event }) => event).sort()).toEqual(['account_locked', 'token_issued']);
    await expect(audit.write(locked('lost'), origin)).rejects.toThrow(StoreUnavailable);
  });
});
