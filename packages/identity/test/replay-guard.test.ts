// requires: redis-server
import { randomUUID } from 'node:crypto';
import { StoreUnavailableError } from '@gatehouse/store';
import { expect, test } from '@jest/globals';
import type { SignatureUse } from '../src/index.ts';
import { describeOnBothEngines } from './on-both-engines.ts';

function newUse(changes: Partial<SignatureUse> = {}): SignatureUse {
  return {
    clientId: randomUUID(),
    signature: randomUUID().replaceAll('-', ''),
    method: 'GET',
    target: '/api/v1/device/A/_detail',
    repeatable: true,
    liveUntil: Date.now() + 300_000,
    ...changes,
  };
}

describeOnBothEngines('the replay guard', ({ openIdentity, storedText }) => {
  const guard = () => openIdentity().replayGuard;

  test('SG-17 a query-signed request may come again, unchanged, at any gateway', async () => {
    const use = newUse();
    expect(await guard().bind(use)).toBe('accepted');
    expect(await guard().bind(use)).toBe('accepted');
  });

  test('SG-17 a body-signed request may not, not even at another gateway', async () => {
    const use = newUse({ method: 'POST', repeatable: false });
    expect(await guard().bind(use)).toBe('accepted');
    expect(await guard().bind(use)).toBe('replayed');
    expect(await guard().bind({ ...use, method: 'PUT' })).toBe('replayed');
  });

  test('SG-18 a signature is bound to the path and query of its first use', async () => {
    const use = newUse();
    const { bind } = guard();
    expect(await bind(use)).toBe('accepted');
    expect(await bind({ ...use, target: '/api/v1/device/B/_detail' })).toBe('replayed');
    expect(await bind({ ...use, target: `${use.target}?a=b` })).toBe('replayed');
    expect(await bind(use)).toBe('accepted');
  });

  test.each(['POST', 'DELETE', 'HEAD', 'OPTIONS'])(
    'SG-20 the signature of a GET is not one of a %s',
    async (method) => {
      const use = newUse();
      const { bind } = guard();
      expect(await bind(use)).toBe('accepted');
      expect(await bind({ ...use, method, repeatable: method !== 'POST' })).toBe('replayed');
    },
  );

  test('SG-20 the signature of a POST with an empty body is not one of a GET', async () => {
    const use = newUse({ method: 'POST', repeatable: false });
    const { bind } = guard();
    expect(await bind(use)).toBe('accepted');
    expect(await bind({ ...use, method: 'GET', repeatable: true })).toBe('replayed');
  });

  test('SG-12 SG-17 upper and lower case digits are one signature', async () => {
    const use = newUse({ signature: `abcdef${randomUUID()}`, repeatable: false });
    const { bind } = guard();
    expect(await bind(use)).toBe('accepted');
    expect(await bind({ ...use, signature: use.signature.toUpperCase() })).toBe('replayed');
  });

  test('SG-19 a nonce is used up once, whatever it comes with, and in its own case', async () => {
    const use = newUse({ nonce: `Nonce-${randomUUID()}`, repeatable: false });
    const { bind } = guard();
    expect(await bind(use)).toBe('accepted');
    expect(await bind(use)).toBe('replayed');
    expect(await guard().bind({ ...use, signature: randomUUID(), target: '/b' })).toBe('replayed');
    expect(await bind({ ...use, nonce: use.nonce?.toUpperCase() })).toBe('accepted');
    expect(await bind({ ...use, clientId: randomUUID() })).toBe('accepted');
  });

  test('SG-19 a nonce is no signature: neither uses the other up', async () => {
    const text = randomUUID().replaceAll('-', '');
    const use = newUse({ signature: text, repeatable: false });
    const { bind } = guard();
    expect(await bind({ ...use, nonce: text })).toBe('accepted');
    expect(await bind(use)).toBe('accepted');
  });

  test('SG-19 SL-01 a nonce is nowhere readable at rest', async () => {
    const nonce = randomUUID();
    await guard().bind(newUse({ nonce }));
    expect(await storedText()).not.toContain(nonce);
  });

  test('SG-33 a signature of version 1 is used up for every client: two may have the same key', async () => {
    const use = newUse({ repeatable: false });
    const { bind } = guard();
    expect(await bind(use)).toBe('accepted');
    expect(await bind({ ...use, clientId: randomUUID() })).toBe('replayed');
  });

  test('SG-17 of 50 uses of a body-signed request at once exactly one is accepted', async () => {
    const use = newUse({ method: 'POST', repeatable: false });
    const guards = [guard(), guard()];
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, i) => guards[i % 2]?.bind(use)),
    );
    expect(outcomes.filter((outcome) => outcome === 'accepted')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'replayed')).toHaveLength(49);
  });

  test('SG-18 of 50 uses at once for two paths one path is accepted', async () => {
    const use = newUse();
    const { bind } = guard();
    const targets = Array.from({ length: 50 }, (_, i) => `/path-${i % 2}`);
    const outcomes = await Promise.all(targets.map((target) => bind({ ...use, target })));
    const accepted = new Set(targets.filter((_, i) => outcomes[i] === 'accepted'));
    expect(accepted.size).toBe(1);
  });

  test('RD-17 a use is remembered longer than any gateway takes the timestamp, clocks being off', async () => {
    const gatewayAhead = openIdentity(() => Date.now() + 30_000).replayGuard;
    const use = newUse({ repeatable: false, liveUntil: Date.now() });
    expect(await gatewayAhead.bind(use)).toBe('accepted');
    const gatewayBehind = openIdentity(() => Date.now() - 30_000).replayGuard;
    expect(await gatewayBehind.bind(use)).toBe('replayed');
  });

  test('a use whose time is over is remembered all the same', async () => {
    const use = newUse({ repeatable: false, liveUntil: Date.now() - 3_600_000 });
    expect(await guard().bind(use)).toBe('accepted');
    expect(await guard().bind(use)).toBe('replayed');
  });

  test('SG-41 a store that is away is an error, never accepted', async () => {
    const identity = openIdentity();
    await identity.store.close();
    await expect(identity.replayGuard.bind(newUse())).rejects.toBeInstanceOf(StoreUnavailableError);
  });

  test('SL-01 a signature is nowhere readable at rest', async () => {
    const use = newUse();
    await guard().bind(use);
    const text = await storedText();
    expect(text).not.toContain(use.signature);
    expect(text).not.toContain(use.signature.toUpperCase());
  });
});
