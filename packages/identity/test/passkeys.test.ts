// requires: redis-server
/** Passkeys in the store: bounded, sealed, and used once. */
import { randomBytes, randomUUID } from 'node:crypto';
import { codeOfApp } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { MAXIMUM_PASSKEYS, type NewPasskey, passkeySchema } from '../src/index.ts';
import { describeOnEngines } from './engines.ts';

const newPasskey = (changes: Partial<NewPasskey> = {}): NewPasskey => ({
  id: randomBytes(16).toString('base64url'),
  publicKey: randomBytes(77).toString('base64url'),
  counter: 0,
  name: 'Phone',
  transports: ['internal'],
  isDeviceBound: false,
  isBackedUp: true,
  ...changes,
});

test('the record of a user is bounded', () => {
  const isValid = (changes: object) => passkeySchema.safeParse(newPasskey(changes)).success;
  const bytes = (count: number) => randomBytes(count).toString('base64url');
  expect([{}, { id: bytes(1023) }, { publicKey: bytes(1200) }].map(isValid)).toEqual([
    ...[true, true, true],
  ]);
  const invalid = [{ id: bytes(1026) }, { publicKey: bytes(1203) }, { name: 'x'.repeat(61) }];
  const others = [{ name: ' ' }, { counter: -1 }, { transports: Array(9).fill('usb') }];
  expect([...invalid, ...others].filter(isValid)).toEqual([]);
});

describeOnEngines('passkeys', ({ openIdentity }) => {
  test('are added up to ten, renamed and removed, and concurrent changes lose none', async () => {
    const [one, two] = [openIdentity().passkeys, openIdentity().passkeys];
    const userId = randomUUID();
    const all = Array.from({ length: 13 }, () => newPasskey());
    const added = await Promise.all(
      all.map((each, i) => (i % 2 === 0 ? one : two).add(userId, each)),
    );
    expect(added.filter((problem) => problem === 'full')).toHaveLength(3);
    const [first, second, ...others] = await one.list(userId);
    expect(others).toHaveLength(MAXIMUM_PASSKEYS - 2);
    expect(await one.remove(userId, first?.id ?? '')).toBeUndefined();
    expect(await one.remove(userId, first?.id ?? '')).toBe('passkey_unknown');
    expect(await one.rename(userId, first?.id ?? '', 'Gone')).toBe('passkey_unknown');
    expect(await one.add(userId, newPasskey({ id: second?.id ?? '' }))).toBe('exists');
    expect(await one.rename(userId, second?.id ?? '', 'Laptop')).toBeUndefined();
    expect((await two.list(userId))[0]).toMatchObject({ name: 'Laptop' });
    expect(await one.recordUse(userId, first?.id ?? '', use(1))).toBe('passkey_unknown');
  });

  test('come with recovery codes, which last as long as any factor', async () => {
    const clock = { now: 1_700_000_000_000 };
    const { factors, passkeys } = openIdentity(() => clock.now);
    const userId = randomUUID();
    const [one, two] = [newPasskey(), newPasskey()];
    const [first, second] = [await passkeys.add(userId, one), await passkeys.add(userId, two)];
    expect([first, second]).toEqual([{ codes: expect.any(Array) }, {}]);
    const [code = '', ...codes] = typeof first === 'string' ? [] : (first.codes ?? []);
    expect([codes.length, await factors.use(userId, code)]).toEqual([9, 'recovery']);
    // A sign-in that enrolls adds nothing to what the user has.
    const secret = factors.newSecret();
    const wanted = codeOfApp(secret, clock.now);
    expect(await factors.enroll(userId, { secret, isFirst: true }, wanted)).toBeUndefined();
    expect(await passkeys.add(userId, newPasskey(), { isFirst: true })).toBe('exists');
    clock.now += 90_000;
    const app = codeOfApp(secret, clock.now);
    expect(await factors.enroll(userId, { secret, isFirst: false }, app)).toHaveLength(10);
    await factors.removeApp(userId);
    await passkeys.remove(userId, one.id);
    expect(await factors.describe(userId)).toMatchObject({ app: undefined, recoveryCodes: 10 });
    await passkeys.remove(userId, two.id);
    expect(await factors.describe(userId)).toMatchObject({ recoveryCodes: 0, passkeys: [] });
  });

  const use = (counter: number, isBackedUp = true) => ({ counter, isBackedUp });

  test('count up, and record their use', async () => {
    const clock = { now: 1_700_000_000_000 };
    const { passkeys } = openIdentity(() => clock.now);
    const userId = randomUUID();
    const passkey = newPasskey({ counter: 3 });
    await passkeys.add(userId, passkey);
    clock.now += 60_000;
    const outcomes = [];
    for (const counter of [4, 4, 3, 0, 9]) {
      outcomes.push(await passkeys.recordUse(userId, passkey.id, use(counter, false)));
    }
    expect(outcomes).toEqual([
      undefined,
      'passkey_copied',
      'passkey_copied',
      'passkey_copied',
      undefined,
    ]);
    expect(await passkeys.list(userId)).toEqual([
      {
        ...{ ...passkey, counter: 9, isBackedUp: false },
        ...{ createdAt: 1_700_000_000, lastUsedAt: 1_700_000_060 },
      },
    ]);
    // One that never counts is always 0.
    const other = newPasskey();
    await passkeys.add(userId, other);
    expect(await passkeys.recordUse(userId, other.id, use(0))).toBeUndefined();
    expect(await passkeys.recordUse(userId, other.id, use(0))).toBeUndefined();
  });

  test('have challenges and counters that work once in races over two processes', async () => {
    const processes = [openIdentity().passkeys, openIdentity().passkeys];
    const userId = randomUUID();
    const passkey = newPasskey();
    await processes[0]?.add(userId, passkey);
    const race = <Result>(run: (passkeys: (typeof processes)[0]) => Promise<Result>) =>
      Promise.all(Array.from({ length: 20 }, (_, i) => run(processes[i % 2] as never)));
    for (let round = 1; round <= 5; round += 1) {
      const challenge = processes[0]?.newChallenge() ?? '';
      const claims = await race((passkeys) => passkeys.claimChallenge(challenge));
      expect(claims.filter(Boolean)).toHaveLength(1);
    }
    const uses = await race((passkeys) => passkeys.recordUse(userId, passkey.id, use(1)));
    expect(uses.filter((problem) => problem === undefined)).toHaveLength(1);
  });
});
