// requires: redis-server
/** Second factors in the store: each code works once, and a damaged record does not sign in. */
import { randomUUID } from 'node:crypto';
import { codeOfApp } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { Secret } from 'otpauth';
import { factorsKey } from '../src/users/factor-record.ts';
import { describeOnEngines } from './engines.ts';

const PERIOD = 30_000;
const START = 1_700_000_010_000;
const none = { app: undefined, recoveryCodes: 0, passkeys: [] };

test('the codes are those of RFC 6238, appendix B', () => {
  const secret = Secret.fromUTF8('12345678901234567890').base32;
  const codes = [59, 1_111_111_109, 1_234_567_890, 20_000_000_000].map((seconds) =>
    codeOfApp(secret, seconds * 1000),
  );
  expect(codes).toEqual(['287082', '081804', '005924', '353130']);
});

describeOnEngines('second factors', ({ openIdentity, storedText }) => {
  async function enroll() {
    const clock = { now: START };
    const open = () => openIdentity(() => clock.now);
    const identity = open();
    const userId = randomUUID();
    const secret = identity.factors.newSecret();
    const added = { secret, isFirst: true };
    const codes = await identity.factors.enroll(userId, added, codeOfApp(secret, clock.now));
    const use = (code: string) => identity.factors.use(userId, code);
    /** The code of the app, with a clock that differs by so many periods. */
    const appCode = (periods = 0) => codeOfApp(secret, clock.now + periods * PERIOD);
    return { clock, open, identity, userId, secret, codes: codes ?? [], use, appCode };
  }

  test('of an app are accepted one period early or late, and each of them once', async () => {
    const { clock, identity, userId, use, appCode } = await enroll();
    // The code of the enrollment is used.
    expect(await use(appCode())).toBeUndefined();
    for (const periods of [-2, 2]) {
      expect(await use(appCode(periods))).toBeUndefined();
    }
    expect(await use(appCode(1))).toBe('totp');
    expect(await use(` ${appCode(-1).replace(/^.../, '$& ')} `)).toBe('totp');
    clock.now += PERIOD;
    expect([await use(appCode()), await use(appCode(-1)), await use('')]).toEqual(
      Array(3).fill(undefined),
    );
    expect(await use(appCode(1))).toBe('totp');
    expect(await identity.factors.describe(userId)).toEqual({
      app: { enrolledAt: START / 1000, lastUsedAt: clock.now / 1000 },
      ...{ recoveryCodes: 10, passkeys: [] },
    });
  });

  test('of paper are accepted once, in any form, until there are new ones', async () => {
    const { identity, userId, codes, use } = await enroll();
    expect(new Set(codes).size).toBe(10);
    const [first = '', second = '', third = ''] = codes;
    expect(await use(first)).toBe('recovery');
    expect(await use(first)).toBeUndefined();
    expect(await use(second.toLowerCase().replaceAll('-', ' '))).toBe('recovery');
    expect(await identity.factors.describe(userId)).toMatchObject({ recoveryCodes: 8 });
    const renewed = (await identity.factors.renewRecoveryCodes(userId)) ?? [];
    expect(await use(third)).toBeUndefined();
    expect(await use(renewed[0] ?? '')).toBe('recovery');
    expect(await identity.factors.removeRecoveryCodes(userId)).toBe(true);
    expect(await use(renewed[1] ?? '')).toBeUndefined();
  });

  test('work once in races over two processes', async () => {
    const { clock, open, userId, codes, appCode } = await enroll();
    const processes = [open(), open()];
    for (let race = 0; race < 10; race += 1) {
      clock.now += 3 * PERIOD;
      const code = race % 2 === 0 ? appCode() : (codes[race] ?? '');
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, i) => processes[i % 2]?.factors.use(userId, code)),
      );
      expect(outcomes.filter((each) => each !== undefined)).toHaveLength(1);
    }
  });

  test('are replaced only where they may be, and do not come back after they were removed', async () => {
    const { clock, open, identity, userId, use, appCode } = await enroll();
    const secret = identity.factors.newSecret();
    clock.now += 3 * PERIOD;
    const enrollOther = (isFirst: boolean, periods: number) =>
      identity.factors.enroll(
        userId,
        { secret, isFirst },
        codeOfApp(secret, clock.now + periods * PERIOD),
      );
    expect(await enrollOther(true, 0)).toBeUndefined();
    expect(await use(appCode())).toBe('totp');
    expect(await enrollOther(false, 1)).toHaveLength(10);
    expect(await use(appCode(1))).toBeUndefined();
    clock.now += 3 * PERIOD;
    const code = codeOfApp(secret, clock.now);
    await Promise.all([use(code), open().factors.remove(userId)]);
    expect(await identity.factors.describe(userId)).toEqual(none);
    expect(await identity.factors.renewRecoveryCodes(userId)).toBeUndefined();
  });

  test('are not readable in the store, and a damaged or foreign record is rejected', async () => {
    const { identity, userId, secret, codes, use, appCode } = await enroll();
    const passkey = {
      id: 'a-passkey-of-the-user',
      publicKey: 'its-public-key',
      counter: 0,
      name: 'Key',
    };
    const kind = { transports: [], isDeviceBound: true, isBackedUp: false };
    await identity.passkeys.add(userId, { ...passkey, ...kind });
    const text = await storedText();
    expect(
      [secret, passkey.id, passkey.publicKey, ...codes].filter((each) => text.includes(each)),
    ).toEqual([]);
    const sealed = (await identity.store.get(factorsKey(userId))) ?? '';
    const other = await enroll();
    for (const record of [`${sealed}A`, 'null', '']) {
      await identity.store.set(factorsKey(userId), record);
      await expect(use(appCode(1))).rejects.toThrow('--reset-factors');
      await expect(identity.passkeys.list(userId)).rejects.toThrow('is damaged');
    }
    await identity.store.set(factorsKey(other.userId), sealed);
    await expect(other.use(other.appCode(1))).rejects.toThrow('is damaged');
    await identity.factors.remove(userId);
    expect(await identity.factors.describe(userId)).toEqual(none);
  });
});
