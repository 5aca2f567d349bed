// requires: redis-server
import { randomUUID } from 'node:crypto';
import { StoreUnavailableError } from '@gatehouse/store';
import { describe, expect, test } from '@jest/globals';
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

  test('knows the signatures and nonces that any gateway has accepted', async () => {
    const first = newUse({ signature: `abcdef${randomUUID()}` });
    const second = newUse({ nonce: `Nonce-${randomUUID()}`, repeatable: false });
    expect(await guard().isUsed(first)).toBe(false);
    expect(await guard().isUsed(second)).toBe(false);
    await guard().bind(first);
    await guard().bind(second);

    const { signature } = first;
    expect(await guard().isUsed({ ...first, signature: signature.toUpperCase() })).toBe(true);
    expect(await guard().isUsed({ ...second, signature })).toBe(true);
    expect(await guard().isUsed({ ...second, signature: randomUUID() })).toBe(true);
    expect(await guard().isUsed({ ...second, clientId: randomUUID() })).toBe(false);
    expect(await guard().isUsed({ ...second, nonce: undefined })).toBe(false);
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

  test('SG-18 without an address group, 50 concurrent uses for two paths serve one path', async () => {
    const use = newUse();
    const { bind } = guard();
    const targets = Array.from({ length: 50 }, (_, i) => `/path-${i % 2}`);
    const outcomes = await Promise.all(targets.map((target) => bind({ ...use, target })));
    const accepted = new Set(targets.filter((_, i) => outcomes[i] === 'accepted'));
    expect(accepted.size).toBe(1);
  });

  describe('that is shared by parallel reads of one address group', () => {
    const newRead = (changes: Partial<SignatureUse> = {}) =>
      newUse({ addressGroup: '192.0.2.1', ...changes });

    test('SG-18 serves each of 50 concurrent targets at two gateways', async () => {
      const use = newRead();
      const guards = [guard(), guard()];
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, (_, i) => guards[i % 2]?.bind({ ...use, target: `/path-${i}` })),
      );
      expect(new Set(outcomes)).toEqual(new Set(['accepted']));
    });

    test('SG-18 serves a further target once, in 50 concurrent uses and with either method', async () => {
      const use = newRead();
      const guards = [guard(), guard()];
      expect(await guard().bind(use)).toBe('accepted');
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          guards[i % 2]?.bind({ ...use, method: i % 4 < 2 ? 'GET' : 'HEAD', target: '/further' }),
        ),
      );
      expect(outcomes.filter((outcome) => outcome === 'accepted')).toHaveLength(1);
    });

    test('SG-17 still serves its first target any number of times', async () => {
      const use = newRead();
      const { bind } = guard();
      expect(await bind(use)).toBe('accepted');
      expect(await bind({ ...use, target: '/further' })).toBe('accepted');
      expect(await bind(use)).toBe('accepted');
      expect(await bind({ ...use, addressGroup: '198.51.100.1' })).toBe('accepted');
    });

    test('SG-20 rejects HEAD for the target of the first GET, and GET for that of a HEAD', async () => {
      for (const [first, second] of [
        ['GET', 'HEAD'],
        ['HEAD', 'GET'],
      ] as const) {
        const use = newRead({ method: first });
        expect(await guard().bind(use)).toBe('accepted');
        expect(await guard().bind({ ...use, method: second })).toBe('replayed');
      }
    });

    test.each(['DELETE', 'OPTIONS', 'POST'])(
      'SG-20 rejects %s for a further target, and a read after it',
      async (method) => {
        const repeatable = method !== 'POST';
        const use = newRead();
        expect(await guard().bind(use)).toBe('accepted');
        const other = { ...use, method, repeatable, target: '/further' };
        expect(await guard().bind(other)).toBe('replayed');

        const changed = newRead({ method, repeatable });
        expect(await guard().bind(changed)).toBe('accepted');
        expect(await guard().bind({ ...changed, method: 'GET', target: '/further' })).toBe(
          'replayed',
        );
      },
    );

    test.each(['198.51.100.1', '', undefined])(
      'SG-18 rejects a further target from the address group %p',
      async (addressGroup) => {
        const use = newRead();
        expect(await guard().bind(use)).toBe('accepted');
        expect(await guard().bind({ ...use, target: '/further', addressGroup })).toBe('replayed');
      },
    );

    test('SG-33 rejects a further target of another client with the same key', async () => {
      const use = newRead();
      expect(await guard().bind(use)).toBe('accepted');
      const other = { ...use, clientId: randomUUID(), target: '/further' };
      expect(await guard().bind(other)).toBe('replayed');
    });

    test('SG-18 rejects a further target if the first use had no address group', async () => {
      const use = newUse();
      expect(await guard().bind(use)).toBe('accepted');
      expect(await guard().bind({ ...use, target: '/further', addressGroup: '192.0.2.1' })).toBe(
        'replayed',
      );
    });

    test('SG-18 rejects further targets after one second, which no use extends', async () => {
      let time = Date.now();
      const { bind } = openIdentity(() => time).replayGuard;
      const use = newRead();
      expect(await bind(use)).toBe('accepted');
      time += 600;
      expect(await bind({ ...use, target: '/second' })).toBe('accepted');
      time += 400;
      expect(await bind({ ...use, target: '/third' })).toBe('accepted');
      time += 1;
      expect(await bind({ ...use, target: '/fourth' })).toBe('replayed');
      expect(await bind(use)).toBe('accepted');
    });

    test('SG-18 rejects further targets at a gateway whose clock is more than a second behind', async () => {
      const use = newRead();
      const time = Date.now();
      expect(await openIdentity(() => time).replayGuard.bind(use)).toBe('accepted');
      const behind = openIdentity(() => time - 1001).replayGuard;
      expect(await behind.bind({ ...use, target: '/further' })).toBe('replayed');
    });

    test('SG-17 a use that is not repeatable, as in strict or for a reply, shares nothing', async () => {
      const use = newRead({ repeatable: false });
      expect(await guard().bind(use)).toBe('accepted');
      expect(await guard().bind({ ...use, target: '/further' })).toBe('replayed');
      expect(await guard().bind({ ...use, target: '/further', repeatable: true })).toBe('replayed');

      const read = newRead();
      expect(await guard().bind(read)).toBe('accepted');
      expect(await guard().bind({ ...read, target: '/further', repeatable: false })).toBe(
        'replayed',
      );
    });

    test('SL-01 the store contains no address', async () => {
      const addressGroup = '203.0.113.77';
      await guard().bind(newRead({ addressGroup }));
      expect(await storedText()).not.toContain(addressGroup);
    });

    test('SG-41 an unavailable store serves no further target', async () => {
      const identity = openIdentity();
      const use = newRead();
      expect(await identity.replayGuard.bind(use)).toBe('accepted');
      await identity.store.close();
      await expect(
        identity.replayGuard.bind({ ...use, target: '/further' }),
      ).rejects.toBeInstanceOf(StoreUnavailableError);
    });
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
