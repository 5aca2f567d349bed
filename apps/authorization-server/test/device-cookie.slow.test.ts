// requires: redis-server

import { accountLimit, hashPassword, nextNotBefore } from '@gatehouse/identity';
import { signInOnDevice } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { full, installation } from './installation.ts';
import { as, startOnEngines } from './server.ts';

const passwordOf = (username: string) => `a long password of ${username}`;
const names = ['locked', 'limited', 'left', 'guessed', 'other', 'changed', 'disabled', 'forged'];
const users = [...names, 'everywhere'].map((username) => ({
  ...{ username, password: passwordOf(username), name: username, orgId: 'org-1' },
}));
const systems = await startOnEngines({ bootstrap: { ...installation, users } });

describe.each(systems)('the device cookie on $engine', ({ system: { first, identity } }) => {
  const signIn = (username: string, password: string, device?: string) =>
    signInOnDevice(first.issuer, { username, password }, device);
  const signInRight = (username: string, device?: string) =>
    signIn(username, passwordOf(username), device);

  async function newDevice(username: string): Promise<string> {
    const { status, device } = await signInRight(username);
    expect(status).toBe(303);
    return device ?? '';
  }

  /** Locks the account from elsewhere, without a browser. */
  async function lock(username: string): Promise<void> {
    const wrong = { grant_type: 'password', username, password: 'a wrong password' };
    for (let i = 0; i < accountLimit.attempts; i += 1) {
      await first.token(wrong, as(full));
    }
  }

  test('is replaced at every sign-in, and not issued for a failed one', async () => {
    const device = await newDevice('left');
    const next = await signInRight('left', device);
    expect(next.device).toMatch(/^v1\./);
    expect(next.device).not.toBe(device);
    expect((await signIn('left', 'a wrong password')).device).toBeUndefined();
  });

  test('gives a copy the same limited number of guesses as the original', async () => {
    const [stolen, untouched] = [await newDevice('guessed'), await newDevice('guessed')];
    for (let i = 0; i < accountLimit.attempts; i += 1) {
      expect((await signIn('guessed', 'a wrong password', stolen)).status).toBe('failed');
    }
    expect((await signInRight('guessed', stolen)).status).toBe('failed');
    expect((await signInRight('guessed', untouched)).status).toBe(303);
    expect((await signInRight('guessed')).status).toBe(303);
  });

  const notBefore = () => nextNotBefore(Date.now());
  test.each([
    [
      'changed',
      'a new password',
      async (id: string) => {
        const passwordHash = await hashPassword(passwordOf('changed'));
        await identity.users.update(id, (user) => ({
          ...user,
          passwordHash,
          notBefore: notBefore(),
        }));
      },
    ],
    [
      'disabled',
      'disabling, also when the user is enabled again',
      async (id: string) => {
        const end = { enabled: false, notBefore: notBefore() };
        await identity.users.update(id, (user) => ({ ...user, ...end }));
        await identity.users.update(id, (user) => ({ ...user, enabled: true }));
      },
    ],
    ['everywhere', 'signing out everywhere', (id: string) => identity.revocations.user(id)],
  ] as const)('of user %s is invalid after %s', async (username, _name, end) => {
    const device = await newDevice(username);
    await end((await identity.users.findByUsername(username))?.userId ?? '');
    await lock(username);
    expect((await signInRight(username, device)).status).toBe('failed');
  });

  test('is valid only as the server sealed it', async () => {
    const device = await newDevice('forged');
    const userId = (await identity.users.findByUsername('forged'))?.userId;
    await lock('forged');
    const text = `${userId} x 99999999999`;
    const altered = `${device.slice(0, -2)}${device.endsWith('AA') ? 'BB' : 'AA'}`;
    for (const forged of [altered, identity.sealer.seal(text, 'elsewhere'), text, '']) {
      expect((await signInRight('forged', forged)).status).toBe('failed');
    }
    expect((await signInRight('forged', device)).status).toBe(303);
  });
});
