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

  test('SG-17 a request with a signed query can be repeated unchanged at any gateway', async () => {
    const use = newUse();
    expect(await guard().bind(use)).toBe('accepted');
    expect(await guard().bind(use)).toBe('accepted');
  });

  test('SG-17 a request with a signed body cannot be repeated at any gateway', async () => {
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
    'SG-20 the signature of a GET is rejected for %s',
    async (method) => {
      const use = newUse();
      const { bind } = guard();
      expect(await bind(use)).toBe('accepted');
      expect(await bind({ ...use, method, repeatable: method !== 'POST' })).toBe('replayed');
    },
  );

  test('SG-20 the signature of a POST with an empty body is rejected for GET', async () => {
    const use = newUse({ method: 'POST', repeatable: false });
    const { bind } = guard();
    expect(await bind(use)).toBe('accepted');
    expect(await bind({ ...use, method: 'GET', repeatable: true })).toBe('replayed');
  });

  test('SG-12 SG-17 digits in upper and lower case are the same signature', async () => {
    const use = newUse({ signature: `abcdef${randomUUID()}`, repeatable: false });
    const { bind } = guard();
    expect(await bind(use)).toBe('accepted');
    expect(await bind({ ...use, signature: use.signature.toUpperCase() })).toBe('replayed');
  });

  test('SG-19 a nonce can be used once, for any request, and is case-sensitive', async () => {
    const use = newUse({ nonce: `Nonce-${randomUUID()}`, repeatable: false });
    const { bind } = guard();
    expect(await bind(use)).toBe('accepted');
    expect(await bind(use)).toBe('replayed');
    expect(await guard().bind({ ...use, signature: randomUUID(), target: '/b' })).toBe('replayed');
    expect(await bind({ ...use, nonce: use.nonce?.toUpperCase() })).toBe('accepted');
    expect(await bind({ ...use, clientId: randomUUID() })).toBe('accepted');
  });

  test('SG-19 a nonce and an equal signature are independent', async () => {
    const text = randomUUID().replaceAll('-', '');
    const use = newUse({ signature: text, repeatable: false });
    const { bind } = guard();
    expect(await bind({ ...use, nonce: text })).toBe('accepted');
    expect(await bind(use)).toBe('accepted');
  });

  test('SG-19 SL-01 the store contains no readable nonce', async () => {
    const nonce = randomUUID();
    await guard().bind(newUse({ nonce }));
    expect(await storedText()).not.toContain(nonce);
  });

  test('SG-33 a version 1 signature is used for all clients, because two may have the same key', async () => {
    const use = newUse({ repeatable: false });
    const { bind } = guard();
    expect(await bind(use)).toBe('accepted');
    expect(await bind({ ...use, clientId: randomUUID() })).toBe('replayed');
  });

  test('SG-17 exactly one of 50 concurrent uses of a signed body is accepted', async () => {
    const use = newUse({ method: 'POST', repeatable: false });
    const guards = [guard(), guard()];
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, i) => guards[i % 2]?.bind(use)),
    );
    expect(outcomes.filter((outcome) => outcome === 'accepted')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'replayed')).toHaveLength(49);
  });

  test('SG-18 only one path is accepted in 50 concurrent uses for two paths', async () => {
    const use = newUse();
    const { bind } = guard();
    const targets = Array.from({ length: 50 }, (_, i) => `/path-${i % 2}`);
    const outcomes = await Promise.all(targets.map((target) => bind({ ...use, target })));
    const accepted = new Set(targets.filter((_, i) => outcomes[i] === 'accepted'));
    expect(accepted.size).toBe(1);
  });

  test('RD-17 a use is stored longer than any gateway with a wrong clock accepts the timestamp', async () => {
    const gatewayAhead = openIdentity(() => Date.now() + 30_000).replayGuard;
    const use = newUse({ repeatable: false, liveUntil: Date.now() });
    expect(await gatewayAhead.bind(use)).toBe('accepted');
    const gatewayBehind = openIdentity(() => Date.now() - 30_000).replayGuard;
    expect(await gatewayBehind.bind(use)).toBe('replayed');
  });

  test('a use after the end of its lifetime is also stored', async () => {
    const use = newUse({ repeatable: false, liveUntil: Date.now() - 3_600_000 });
    expect(await guard().bind(use)).toBe('accepted');
    expect(await guard().bind(use)).toBe('replayed');
  });

  test('SG-41 an unavailable store is an error, and nothing is accepted', async () => {
    const identity = openIdentity();
    await identity.store.close();
    await expect(identity.replayGuard.bind(newUse())).rejects.toBeInstanceOf(StoreUnavailableError);
  });

  test('SL-01 the store contains no readable signature', async () => {
    const use = newUse();
    await guard().bind(use);
    const text = await storedText();
    expect(text).not.toContain(use.signature);
    expect(text).not.toContain(use.signature.toUpperCase());
  });
});
