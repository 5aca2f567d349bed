// requires: redis-server

import { accountLimit } from '@gatehouse/identity';
import {
  authorizeAsUser,
  createPageVisitor,
  newPkce,
  type PageVisitor,
  signInOnDevice,
} from '@gatehouse/testing';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { runGatehouse } from './run-gatehouse.ts';

const password = 'correct horse battery';
const redirectUri = 'https://app.example/callback';
const names = ['unlocked', 'reset', 'browser', 'changed', 'sessions'];

const client = { clientId: 'web', name: 'Web', orgId: 'org-1', public: true };
const rights = { grantTypes: ['authorization_code'], scopes: ['openid', 'profile'] };
const systems = await startOnEachEngine({
  apps: ['authorization-server'],
  bootstrap: {
    organizations: [{ id: 'org-1', name: 'Example' }],
    clients: [{ ...client, ...rights, redirectUris: [redirectUri] }],
    users: names.map((username) => ({ username, password, name: username, orgId: 'org-1' })),
  },
});

describe.each(systems)('commands for locked users on $engine', ({ system }) => {
  const gatehouse = (args: string, stdin?: string) =>
    runGatehouse(system.commandEnvironment, args.split(' '), stdin);

  const signIn = (username: string, entered = password, device?: string) =>
    signInOnDevice(system.authorizationServerUrl, { username, password: entered }, device);

  async function lock(username: string, device?: string): Promise<void> {
    for (let i = 0; i < accountLimit.attempts; i += 1) {
      await signIn(username, 'a wrong password', device);
    }
    expect((await signIn(username, password, device)).status).toBe('failed');
  }

  /** A browser in which the user is signed in to the application. */
  async function openSession(username: string): Promise<PageVisitor> {
    const visitor = createPageVisitor();
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: 'web',
      redirect_uri: redirectUri,
      ...{ scope: 'openid profile', ...newPkce().pkce },
    });
    const url = `${system.authorizationServerUrl}/authorize?${query}`;
    await authorizeAsUser(url, { username, password }, visitor);
    return visitor;
  }

  test('users show names the lock, and users change --unlock ends it', async () => {
    expect((await gatehouse('users show unlocked --json')).json.locks).toEqual([]);
    await lock('unlocked');
    const { locks } = (await gatehouse('users show unlocked --json')).json;
    expect(locks).toEqual([{ kind: 'account', until: expect.any(Number) }]);
    const shown = await gatehouse('users show unlocked');
    expect(shown.output).toMatch(/locked +until .*Z: browsers in which the user never signed in/);
    expect(shown.output).not.toContain('argon2');
    expect((await gatehouse('users change unlocked --unlock')).output).toContain(
      'can sign in again',
    );
    expect((await gatehouse('users show unlocked --json')).json.locks).toEqual([]);
    expect((await signIn('unlocked')).status).toBe(303);
    const { entries } = (await gatehouse('audit list --event user_changed --json')).json;
    expect(entries[0]).toMatchObject({ change: 'unlocked', actor: 'cli' });
  });

  test('a password reset unlocks the account', async () => {
    await lock('reset');
    expect(await gatehouse('users password reset', 'another good password')).toMatchObject({
      code: 0,
    });
    expect((await signIn('reset', 'another good password')).status).toBe(303);
  });

  test('users change --unlock also ends the lock of a browser with an earlier sign-in', async () => {
    const { device } = await signIn('browser');
    await lock('browser', device);
    expect((await signIn('browser')).status).toBe(303);
    expect((await gatehouse('users show browser --json')).json.locks).toMatchObject([
      { kind: 'browser' },
    ]);
    await gatehouse('users change browser --unlock');
    expect((await signIn('browser', password, device)).status).toBe(303);
  });

  test('users show lists browsers and applications until the user is signed out', async () => {
    await openSession('sessions');
    await openSession('sessions');
    const { json } = await gatehouse('users show sessions --json');
    const time = expect.any(Number);
    const times = { signedInAt: time, expiresAt: time };
    const lastUse = { at: time, from: '127.0.0.1' };
    const session = { id: expect.any(String), ...times, lastUse, clientIds: ['web'] };
    expect(json.sessions).toEqual([session, session]);
    const application = { clientId: 'web', since: time, expiresAt: time, scope: 'openid profile' };
    expect(json.applications).toMatchObject([application, application]);
    expect((await gatehouse('users show sessions')).output).toMatch(/web .*openid profile/);
    await gatehouse('tokens revoke --user sessions --yes');
    expect((await gatehouse('users show sessions --json')).json).toMatchObject({
      sessions: [],
      applications: [],
    });
  });
});
