// requires: redis-server
// runs alone: it compares times

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { canaryKinds, createRevocationCanary, openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import {
  type Constellation,
  integrationEngines,
  parseMetrics,
  type StoreEngine,
  startConstellation,
  startStoreEngine,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

describe.each(integrationEngines)('the revocation canary over %s', (name) => {
  let engine: StoreEngine;
  beforeAll(async () => {
    engine = await startStoreEngine(name);
  });
  afterAll(() => engine.stop());

  function open() {
    const store = createStore(engine.storeUrl);
    const identity = openIdentity({ store, masterKey: randomBytes(32) });
    return { store, identity };
  }

  test.each(canaryKinds)('measures the time until the token is rejected: %s', async (kind) => {
    const { store, identity } = open();
    const verdicts: unknown[] = [];
    const verify = async (token: string) => {
      const principal = await identity.verifyAccessToken(token);
      verdicts.push(principal?.scopes.size);
      return principal;
    };
    const canary = createRevocationCanary({ ...identity, verify, now: Date.now });
    const seconds = await canary.measure(kind);
    expect(seconds).toBeGreaterThanOrEqual(0);
    expect(seconds).toBeLessThan(1);
    // The token was accepted, never with a scope, and then rejected.
    expect(new Set(verdicts.filter((size) => size !== undefined))).toEqual(new Set([0]));
    expect(verdicts.at(-1)).toBeUndefined();
    expect(await identity.clients.list()).toEqual([]);
    await store.close();
  });

  test('measures a verifier with a delay', async () => {
    const { store, identity } = open();
    let known: Awaited<ReturnType<typeof identity.verifyAccessToken>>;
    let lateUntil = Number.POSITIVE_INFINITY;
    const verify = async (token: string) => {
      const principal = await identity.verifyAccessToken(token);
      known ??= principal;
      if (principal === undefined && known !== undefined) {
        lateUntil = Math.min(lateUntil, performance.now() + 300);
        return performance.now() < lateUntil ? known : undefined;
      }
      return principal;
    };
    const canary = createRevocationCanary({ ...identity, verify, now: Date.now });
    expect(await canary.measure('token')).toBeGreaterThan(0.29);
    await store.close();
  });

  test('fails if the token is never accepted', async () => {
    const { store, identity } = open();
    const verify = async () => undefined;
    const canary = createRevocationCanary({ ...identity, verify, now: Date.now });
    await expect(canary.measure('client')).rejects.toThrow('is not accepted');
    await store.close();
  });
});

describe('a gateway', () => {
  let system: Constellation;
  beforeAll(async () => {
    const bootstrap = { organizations: [{ id: 'org-1', name: 'One' }] };
    system = await startConstellation({ engine: 'sqlite', apps: ['gateway'], bootstrap });
  });
  afterAll(() => system.stop());

  test('exports the duration of revocations as a metric', async () => {
    const read = async () => {
      const text = await (await fetch(`${system.members[0]?.operationsUrl}/metrics`)).text();
      return parseMetrics(text).get('gatehouse_revocation_seconds')?.samples ?? [];
    };
    const countOf = async (kind: string, suffix: string) =>
      (await read()).find((sample) => sample.labels.kind === kind && sample.name.endsWith(suffix))
        ?.value ?? 0;
    for (const kind of canaryKinds) {
      while ((await countOf(kind, '_count')) === 0) {
        await sleep(100);
      }
      expect(await countOf(kind, '_sum')).toBeLessThan(1);
    }
  });
});
