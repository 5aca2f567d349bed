// requires: redis-server
import { randomUUID } from 'node:crypto';
import { StoreUnavailableError } from '@gatehouse/store';
import { storeEngines } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import type { SignatureUse } from '../src/tokens/replay-guard.ts';
import { describeOnEngines } from './engines.ts';

function newUse(changes: Partial<SignatureUse> = {}): SignatureUse {
  return {
    clientId: randomUUID(),
    signature: `abcdef${randomUUID().replaceAll('-', '')}`,
    method: 'GET',
    target: '/api/v1/device/A/_detail',
    repeatable: true,
    liveUntil: Date.now() + 300_000,
    ...changes,
  };
}

const ok = 'accepted';
const no = 'replayed';
type Step = readonly [Partial<SignatureUse>, typeof ok | typeof no];

const same: Partial<SignatureUse> = {};
const once = { repeatable: false };
const post = { method: 'POST', repeatable: false };
const read = { addressGroup: '192.0.2.1' };
const further = { target: '/further' };
const otherClient = { clientId: 'another client' };
const nonce = { nonce: 'Nonce-1', repeatable: false };

/** The first use is always accepted. The changes of each further use are relative to it. */
const sequences: readonly (readonly [
  title: string,
  first: Partial<SignatureUse>,
  ...steps: readonly Step[],
])[] = [
  ['a request with a signed query can be repeated unchanged', {}, [same, ok], [same, ok]],
  [
    'a request with a signed body cannot be repeated',
    post,
    [same, no],
    [{ method: 'PUT' }, no],
    [{ method: 'GET', repeatable: true }, no],
  ],
  [
    'a signature is bound to the path and query of its first use',
    {},
    [{ target: '/api/v1/device/B/_detail' }, no],
    [{ target: '/api/v1/device/A/_detail?a=b' }, no],
    [{ ...further, ...read }, no],
    [same, ok],
  ],
  [
    'the signature of a GET is rejected for other methods',
    {},
    [post, no],
    ...['DELETE', 'HEAD', 'OPTIONS'].map((method): Step => [{ method }, no]),
  ],
  [
    'digits in upper and lower case are the same signature',
    { ...once, signature: 'abcdef01' },
    [{ signature: 'ABCDEF01' }, no],
  ],
  [
    'a nonce can be used once, for any request, and is case-sensitive',
    nonce,
    [same, no],
    [{ signature: 'other', ...further }, no],
    [{ nonce: 'NONCE-1' }, ok],
    [otherClient, ok],
    // A nonce and an equal signature are independent.
    [{ signature: 'Nonce-1', nonce: undefined }, ok],
  ],
  [
    'a version 1 signature is used for all clients, because two may have the same key',
    once,
    [otherClient, no],
  ],
  [
    'parallel reads share a signature, and its first target can be repeated',
    read,
    [further, ok],
    [same, ok],
    [{ addressGroup: '198.51.100.1' }, ok],
  ],
  ['HEAD is rejected for the target of the first GET', read, [{ method: 'HEAD' }, no]],
  [
    'GET is rejected for the target of the first HEAD',
    { ...read, method: 'HEAD' },
    [{ method: 'GET' }, no],
  ],
  ...['DELETE', 'OPTIONS', 'POST'].flatMap((method) => {
    const change = { method, repeatable: method !== 'POST' };
    return [
      [`${method} is rejected for a further target`, read, [{ ...change, ...further }, no]],
      [
        `a read is rejected after ${method}`,
        { ...read, ...change },
        [{ method: 'GET', ...further }, no],
      ],
    ] as const;
  }),
  ...['198.51.100.1', '', undefined].map(
    (addressGroup) =>
      [
        `a further target is rejected from the address group ${addressGroup}`,
        read,
        [{ ...further, addressGroup }, no],
      ] as const,
  ),
  [
    'a further target of another client with the same key is rejected',
    read,
    [{ ...otherClient, ...further }, no],
  ],
  [
    'a use that is not repeatable, as in strict or for a reply, shares nothing',
    { ...read, ...once },
    [further, no],
    [{ ...further, repeatable: true }, no],
  ],
  ['a shared signature serves no use that is not repeatable', read, [{ ...further, ...once }, no]],
  ['a use after the end of its lifetime is also stored', { ...once, liveUntil: 1 }, [same, no]],
];

describeOnEngines(
  'the replay guard',
  ({ openIdentity, storedText }) => {
    const guard = () => openIdentity().replayGuard;

    test.each(sequences)('%s', async (_title, first, ...steps) => {
      // Any gateway decides, and equal values of other tests do not matter.
      const unique = randomUUID();
      const apart = (use: SignatureUse) => ({
        ...use,
        clientId: `${unique} ${use.clientId}`,
        signature: `${unique}${use.signature}`,
      });
      const use = newUse(first);
      expect(await guard().bind(apart(use))).toBe('accepted');
      for (const [change, outcome] of steps) {
        expect(await guard().bind(apart({ ...use, ...change }))).toBe(outcome);
      }
    });

    test('knows the signatures and nonces that any gateway has accepted', async () => {
      const first = newUse();
      const second = newUse({ nonce: `Nonce-${randomUUID()}`, repeatable: false });
      expect([await guard().isUsed(first), await guard().isUsed(second)]).toEqual([false, false]);
      await guard().bind(first);
      await guard().bind(second);

      const { signature } = first;
      expect(await guard().isUsed({ ...first, signature: signature.toUpperCase() })).toBe(true);
      expect(await guard().isUsed({ ...second, signature })).toBe(true);
      expect(await guard().isUsed({ ...second, signature: randomUUID() })).toBe(true);
      expect(await guard().isUsed({ ...second, clientId: randomUUID() })).toBe(false);
      expect(await guard().isUsed({ ...second, nonce: undefined })).toBe(false);
    });

    /** The outcomes of 50 concurrent uses at two gateways. */
    async function race(useOf: (i: number) => SignatureUse) {
      const guards = [guard(), guard()];
      return Promise.all(Array.from({ length: 50 }, (_, i) => guards[i % 2]?.bind(useOf(i))));
    }
    const accepted = (outcomes: readonly unknown[]) => outcomes.filter((each) => each === ok);

    test('exactly one of 50 concurrent uses of a signed body is accepted', async () => {
      const use = newUse(post);
      expect(accepted(await race(() => use))).toHaveLength(1);
    });

    test('without an address group, 50 concurrent uses for two paths serve one path', async () => {
      const use = newUse();
      const targetOf = (i: number) => `/path-${i % 2}`;
      const outcomes = await race((i) => ({ ...use, target: targetOf(i) }));
      const served = outcomes.flatMap((outcome, i) => (outcome === ok ? [targetOf(i)] : []));
      expect(new Set(served).size).toBe(1);
    });

    test('parallel reads of one address group serve each of 50 targets, each once', async () => {
      const use = newUse(read);
      expect(accepted(await race((i) => ({ ...use, target: `/path-${i}` })))).toHaveLength(50);
      const repeated = await race((i) => ({
        ...use,
        method: i % 4 < 2 ? 'GET' : 'HEAD',
        target: '/again',
      }));
      expect(accepted(repeated)).toHaveLength(1);
    });

    test('rejects further targets after one second, which no use extends', async () => {
      let time = Date.now();
      const { bind } = openIdentity(() => time).replayGuard;
      const use = newUse(read);
      expect(await bind(use)).toBe('accepted');
      time += 600;
      expect(await bind({ ...use, target: '/second' })).toBe('accepted');
      time += 400;
      expect(await bind({ ...use, target: '/third' })).toBe('accepted');
      time += 1;
      expect(await bind({ ...use, target: '/fourth' })).toBe('replayed');
      expect(await bind(use)).toBe('accepted');
      const behind = openIdentity(() => time - 2002).replayGuard;
      expect(await behind.bind({ ...use, target: '/fifth' })).toBe('replayed');
    });

    test('a use is stored longer than any gateway with a wrong clock accepts the timestamp', async () => {
      const gatewayAhead = openIdentity(() => Date.now() + 30_000).replayGuard;
      const use = newUse({ ...once, liveUntil: Date.now() });
      expect(await gatewayAhead.bind(use)).toBe('accepted');
      const gatewayBehind = openIdentity(() => Date.now() - 30_000).replayGuard;
      expect(await gatewayBehind.bind(use)).toBe('replayed');
    });

    test('an unavailable store is an error, and serves no further target', async () => {
      const identity = openIdentity();
      const use = newUse(read);
      expect(await identity.replayGuard.bind(use)).toBe('accepted');
      await identity.store.close();
      for (const each of [newUse(), { ...use, ...further }]) {
        await expect(identity.replayGuard.bind(each)).rejects.toBeInstanceOf(StoreUnavailableError);
      }
    });

    test('the store contains no readable signature, nonce or address', async () => {
      const secrets = { nonce: randomUUID(), addressGroup: '203.0.113.77' };
      const use = newUse();
      await guard().bind(use);
      await guard().bind(newUse(secrets));
      const text = await storedText();
      for (const secret of [
        use.signature,
        use.signature.toUpperCase(),
        ...Object.values(secrets),
      ]) {
        expect(text).not.toContain(secret);
      }
    });
  },
  storeEngines,
);
