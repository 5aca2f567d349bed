import { authorizeAsUser, createPageVisitor, startConstellation } from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { alice, basic, bootstrap, requestToken, web } from './fixtures.ts';
import { full, grantsBootstrap } from './grants-fixtures.ts';

const system = await startSystem({
  engine: 'sqlite',
  bootstrap: grantsBootstrap,
  apps: ['authorization-server'],
});
const issuer = system.authorizationServerUrl;

describe('a pushed authorization request (RFC 9126)', () => {
  const scopeless = { clientId: 'scopeless', secureKey: 'scopelessKey0123456789' };

  async function push(
    client: { readonly clientId: string; readonly secureKey: string },
    parameters: Record<string, string>,
  ) {
    const reply = await fetch(`${issuer}/par`, {
      method: 'POST',
      headers: { authorization: basic(client.clientId, client.secureKey) },
      body: new URLSearchParams({
        response_type: 'code',
        client_id: client.clientId,
        ...parameters,
      }),
    });
    const { request_uri: requestUri = '' } = (await reply.json()) as Record<string, string>;
    return (extra = '') =>
      `${issuer}/authorize?client_id=${client.clientId}&request_uri=${encodeURIComponent(requestUri)}${extra}`;
  }

  test('without a scope gets all scopes of the client', async () => {
    const address = await push(web, { redirect_uri: web.redirectUri });
    const landing = await authorizeAsUser(address(), alice);
    const { body } = await requestToken(issuer, {
      grant_type: 'authorization_code',
      code: landing.searchParams.get('code') ?? '',
      redirect_uri: web.redirectUri,
    });
    expect(body.scope).toContain('device:write');
  });

  test('is rejected if the client is registered for no scope', async () => {
    const reply = await fetch(`${issuer}/par`, {
      method: 'POST',
      headers: { authorization: basic(scopeless.clientId, scopeless.secureKey) },
      body: new URLSearchParams({
        response_type: 'code',
        client_id: scopeless.clientId,
        redirect_uri: 'https://scopeless.example/callback',
        scope: 'openid device:read device:write',
      }),
    });
    expect([reply.status, await reply.json()]).toMatchObject([400, { error: 'invalid_scope' }]);
  });

  test.each(['', '&scope=', '&scope=openid+nonsense'])(
    'grants only registered scopes, whatever the URL adds: %s',
    async (extra) => {
      const address = await push(full, {
        redirect_uri: web.redirectUri,
        scope: 'openid device:read device:report nonsense',
      });
      const landing = await authorizeAsUser(address(extra), alice);
      const { body } = await requestToken(
        issuer,
        {
          grant_type: 'authorization_code',
          code: landing.searchParams.get('code') ?? '',
          redirect_uri: web.redirectUri,
        },
        { authorization: basic(full.clientId, full.secureKey) },
      );
      expect(body.scope).toBe('openid device:read');
    },
  );

  test('is rejected for another client, and stays valid for its own', async () => {
    const address = await push(web, { redirect_uri: web.redirectUri, scope: 'device:read' });
    // The other client has the same redirect URI and scope, so only its id differs.
    const foreign = address().replace('client_id=web', `client_id=${full.clientId}`);
    expect(foreign).not.toBe(address());
    const reply = await createPageVisitor().get(foreign);
    expect([reply.status, reply.location]).toEqual([400, undefined]);
    const landing = await authorizeAsUser(address(), alice);
    expect(landing.searchParams.has('code')).toBe(true);
  });

  test('can be used once', async () => {
    const address = await push(web, { redirect_uri: web.redirectUri, scope: 'device:read' });
    await authorizeAsUser(address(), alice);
    const again = await createPageVisitor().get(address());
    expect(again.status).toBe(400);
    expect(again.body).toContain('invalid_request_uri');
  });
});

describe('request targets that are not paths', () => {
  test('are rejected before routing', async () => {
    const { connect } = await import('node:net');
    const system = await startConstellation({
      engine: 'sqlite',
      bootstrap,
      apps: ['authorization-server'],
    });
    const { port } = new URL(system.authorizationServerUrl);
    for (const target of [
      'http://x:99999/token',
      'http://[/authorize',
      'http://user@evil.example/',
      '*',
    ]) {
      const reply = await new Promise<string>((resolve) => {
        let text = '';
        const socket = connect(Number(port), 'localhost', () =>
          socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
        );
        socket.on('data', (chunk) => {
          text += chunk.toString('utf8');
        });
        socket.on('close', () => resolve(text));
      });
      expect([target, reply.slice(0, 12)]).toEqual([target, 'HTTP/1.1 400']);
    }
    await system.stop();
  });
});
