// requires: redis-server
// runs alone: it has deadlines of seconds under load

import { setTimeout as sleep } from 'node:timers/promises';
import { authorizeAsUser, createPageVisitor, type PageVisitor, postAs } from '@gatehouse/testing';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { runGatehouse } from './run-gatehouse.ts';

const redirectUri = 'https://app.example/callback';
const secureKey = 'webKey0123456789abcdef';
const client = (clientId: string) => ({
  clientId,
  secureKey,
  name: clientId,
  orgId: 'org-1',
  redirectUris: [redirectUri],
  grantTypes: ['authorization_code', 'client_credentials', 'refresh_token'],
  scopes: ['device:read', 'openid'],
});
const user = (username: string) => ({
  username,
  password: 'correct horse battery',
  name: username,
  orgId: 'org-1',
});

const names = ['by-client', 'by-user', 'by-all', 'removed'];
const systems = await startOnEachEngine({
  apps: ['authorization-server', 'authorization-server', 'gateway'],
  bootstrap: {
    organizations: [{ id: 'org-1', name: 'Example' }],
    clients: names.map(client),
    users: names.map(user),
  },
});

describe.each(systems)(
  'revocation by operators on $engine, with two authorization servers and a gateway',
  ({ system }) => {
    const here = (args: readonly string[]) => runGatehouse(system.commandEnvironment, args);

    async function post(path: string, clientId: string, form: Record<string, string>, server = 0) {
      const url = `${system.authorizationServerUrls[server]}${path}`;
      const reply = await postAs(url, { clientId, secureKey }, form);
      // biome-ignore lint/suspicious/noExplicitAny: each test knows the shape that it expects
      return { status: reply.status, body: (await reply.json()) as any };
    }

    const authorizationUrl = (clientId: string, more: Record<string, string> = {}) =>
      `${system.authorizationServerUrl}/authorize?${new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        ...more,
      })}`;

    async function newCode(name: string, visitor?: PageVisitor): Promise<string> {
      const landing = await authorizeAsUser(authorizationUrl(name), user(name), visitor);
      return landing.searchParams.get('code') ?? '';
    }

    const redemption = (code: string) => ({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
    });

    /** A browser session, a code, and tokens that both kinds of servers accepted. */
    async function credentialsOf(name: string) {
      const visitor = createPageVisitor();
      const { body } = await post('/token', name, redemption(await newCode(name, visitor)));
      const machine = await post('/token', name, { grant_type: 'client_credentials' });
      const code = await newCode(name, visitor);
      const tokens = [body.access_token, machine.body.access_token];
      for (const token of tokens) {
        expect(await gatewayAccepts(token)).toBe(true);
        expect(await isActive(name, token, 1)).toBe(true);
      }
      return { visitor, code, refreshToken: String(body.refresh_token), tokens };
    }

    /** No device service runs, so an accepted token gets 502. */
    async function gatewayAccepts(token: string): Promise<boolean> {
      const headers = { authorization: `Bearer ${token}` };
      return (await fetch(`${system.gatewayUrl}/api/device`, { headers })).status !== 401;
    }

    async function isActive(name: string, token: string, server: number): Promise<boolean> {
      return (await post('/introspect', name, { token }, server)).body.active;
    }

    async function isSignedIn(name: string, visitor: PageVisitor): Promise<boolean> {
      const url = authorizationUrl(name, { prompt: 'none', scope: 'device:read' });
      const { location = '' } = await visitor.get(url);
      return new URL(location).searchParams.has('code');
    }

    async function expectDead(name: string, dead: Awaited<ReturnType<typeof credentialsOf>>) {
      for (const token of dead.tokens) {
        expect(await gatewayAccepts(token)).toBe(false);
        expect(await isActive(name, token, 0)).toBe(false);
        expect(await isActive(name, token, 1)).toBe(false);
      }
      for (const server of [0, 1]) {
        const refresh = { grant_type: 'refresh_token', refresh_token: dead.refreshToken };
        expect((await post('/token', name, refresh, server)).body.error).toBe('invalid_grant');
        expect((await post('/token', name, redemption(dead.code), server)).body.error).toBe(
          'invalid_grant',
        );
      }
    }

    test('revoking a client, a user or everything takes effect at once, and new sign-ins work', async () => {
      const ofClient = await credentialsOf('by-client');
      const { tokens, ...ofUser } = await credentialsOf('by-user');
      const [userToken = '', machineToken = ''] = tokens;
      const bystander = await credentialsOf('by-all');
      expect(await isSignedIn('by-user', ofUser.visitor)).toBe(true);
      expect(await here(['tokens', 'revoke', '--client', 'by-client', '--yes'])).toMatchObject({
        code: 0,
      });
      expect(await here(['tokens', 'revoke', '--user', 'by-user', '--yes'])).toMatchObject({
        code: 0,
      });
      await sleep(60);
      await expectDead('by-client', ofClient);
      await expectDead('by-user', { ...ofUser, tokens: [userToken] });
      expect(await isSignedIn('by-user', ofUser.visitor)).toBe(false);
      expect(await gatewayAccepts(machineToken)).toBe(true);
      expect(await isActive('by-all', bystander.tokens[0], 1)).toBe(true);
      expect(await isSignedIn('by-all', bystander.visitor)).toBe(true);

      expect(await here(['tokens', 'revoke', '--all', '--yes'])).toMatchObject({ code: 0 });
      await sleep(60);
      await expectDead('by-all', bystander);
      expect(await gatewayAccepts(machineToken)).toBe(false);
      expect(await isSignedIn('by-all', bystander.visitor)).toBe(false);

      await sleep(2000);
      const code = await newCode('by-user', ofUser.visitor);
      const { body } = await post('/token', 'by-user', redemption(code), 1);
      expect(await gatewayAccepts(body.access_token)).toBe(true);
      const machine = await post('/token', 'by-client', { grant_type: 'client_credentials' });
      expect(await gatewayAccepts(machine.body.access_token)).toBe(true);
    });

    test('removing a user and a client ends their credentials, also if the client returns', async () => {
      const { visitor, refreshToken, tokens } = await credentialsOf('removed');
      const json = async (command: string) => (await here([...command.split(' '), '--json'])).json;
      const { user: found } = await json('users show removed');
      const { lastUse } = await json('clients show removed');
      const times = [found.lastSignInAt, lastUse.at, ...Object.values(lastUse.keys)];
      expect(times.every((time) => Math.abs(Date.now() / 1000 - time) < 120)).toBe(true);

      const removed = await json('users remove removed --yes');
      expect(removed.removed).toMatchObject({ sessions: 1, applications: 1 });
      await sleep(60);
      expect(await gatewayAccepts(tokens[0])).toBe(false);
      expect(await gatewayAccepts(tokens[1])).toBe(true);
      expect(await isSignedIn('removed', visitor)).toBe(false);
      const refresh = { grant_type: 'refresh_token', refresh_token: refreshToken };
      expect((await post('/token', 'removed', refresh)).body.error).toBe('invalid_grant');

      await json('clients remove removed --yes');
      await sleep(60);
      expect(await gatewayAccepts(tokens[1])).toBe(false);
      expect((await post('/token', 'removed', refresh, 1)).body.error).toBe('invalid_client');
      const add = ['clients', 'add', 'removed', '--org', 'org-1', '--secure-key-stdin'];
      expect(await runGatehouse(system.commandEnvironment, add, secureKey)).toMatchObject({
        code: 0,
      });
      await sleep(2000);
      const machine = await post('/token', 'removed', { grant_type: 'client_credentials' }, 1);
      expect(await gatewayAccepts(machine.body.access_token)).toBe(true);
      for (const token of tokens) {
        expect(await gatewayAccepts(token)).toBe(false);
      }
    });
  },
);
