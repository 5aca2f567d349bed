import { startSystem } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { authorizationUrl, bootstrap } from './fixtures.ts';

const system = await startSystem({
  engine: 'sqlite',
  bootstrap,
  apps: ['authorization-server'],
});
const issuer = system.authorizationServerUrl;

describe('rejected requests', () => {
  test.each(['/token', '/revoke', '/introspect', '/par', '/device/auth', '/platform/oauth2/token'])(
    'to %s without client authentication are invalid_client',
    async (path) => {
      const reply = await fetch(`${issuer}${path}`, {
        method: 'POST',
        body: new URLSearchParams({ grant_type: 'client_credentials', token: 'x' }),
      });
      expect([reply.status, await reply.json()]).toMatchObject([401, { error: 'invalid_client' }]);
      expect(reply.headers.get('www-authenticate')).toMatch(/^Basic /);
    },
  );

  test('to /authorize without a response_type name the missing parameter', async () => {
    const url = new URL(authorizationUrl(issuer));
    url.searchParams.delete('response_type');
    const { headers } = await fetch(url, { redirect: 'manual' });
    const { searchParams } = new URL(headers.get('location') ?? '');
    expect(searchParams.get('error')).toBe('invalid_request');
    expect(searchParams.get('error_description')).toContain('response_type');
  });

  describe('errors of the code flow', () => {
    const browser = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' };
    const locationFor = async (headers: Record<string, string>) => {
      const url = authorizationUrl(issuer, { prompt: 'none', scope: 'openid' });
      const reply = await fetch(url, { redirect: 'manual', headers });
      return reply.headers.get('location') ?? '';
    };

    test('end with an empty fragment in a browser that another site sent here', async () => {
      for (const site of ['cross-site', 'same-site']) {
        expect(await locationFor({ ...browser, 'sec-fetch-site': site })).toMatch(/#_$/);
      }
      expect(await locationFor(browser)).toMatch(/#_$/);
    });

    test('have no fragment elsewhere', async () => {
      for (const site of ['same-origin', 'none']) {
        expect(await locationFor({ ...browser, 'sec-fetch-site': site })).not.toContain('#');
      }
      expect(await locationFor({ 'user-agent': 'curl/8' })).not.toContain('#');
    });
  });

  test.each([
    ['/.well-known/openid-configuration', 'GET, HEAD'],
    ['/jwks', 'GET, HEAD'],
    ['/token', 'POST'],
    ['/userinfo', 'GET, POST'],
    ['/authorize', 'GET, HEAD, POST'],
    ['/logout', 'GET, HEAD, POST'],
    ['/logout/confirm', 'POST'],
    ['/device', 'GET, HEAD, POST'],
    ['/account', 'GET, HEAD'],
    ['/account/password', 'GET, HEAD, POST'],
    ['/sign-in/unknown', 'GET, HEAD'],
    ['/sign-in/unknown/credentials', 'GET, HEAD, POST'],
    ['/assets/pages.css', 'GET, HEAD'],
    ['/', 'GET, HEAD'],
  ])('to %s with a wrong method get 405 with Allow: %s', async (path, allow) => {
    for (const method of ['PUT', 'DELETE', 'PATCH']) {
      const reply = await fetch(`${issuer}${path}`, { method, redirect: 'manual' });
      expect([method, reply.status, reply.headers.get('allow')]).toEqual([method, 405, allow]);
      expect(reply.headers.get('set-cookie')).toBeNull();
    }
  });

  test.each([
    '/token/',
    '/token/x',
    '/revoke/',
    '/introspect/',
    '/par/',
    '/device/auth/',
    '/userinfo/',
    '/jwks/',
    '/platform/oauth2/token/',
    '/.well-known/openid-configuration/',
  ])('to %s get JSON with the path of the endpoint', async (path) => {
    for (const method of ['GET', 'POST']) {
      const reply = await fetch(`${issuer}${path}`, {
        method,
        headers: { accept: 'text/html' },
        redirect: 'manual',
      });
      expect([reply.status, reply.headers.get('content-type')]).toEqual([
        404,
        'application/json;charset=UTF-8',
      ]);
      const { error_description: description } = (await reply.json()) as Record<string, string>;
      expect(description).toContain(path.replace(/\/x?$/, ''));
    }
  });
});
