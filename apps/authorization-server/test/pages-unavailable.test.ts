import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type InProcessServer, startInProcess } from './in-process-server.ts';

describe('the pages while the store is unavailable', () => {
  let server: InProcessServer;

  beforeAll(async () => {
    server = await startInProcess();
    await server.store.close();
  });
  afterAll(() => server.stop());

  // The cookie and the code make the server look up a session and a code.
  const requests: readonly [string, string, RequestInit][] = [
    ['GET', '/authorize?response_type=code&client_id=web', {}],
    ['GET', '/account', {}],
    ['GET', '/account/password', {}],
    ['POST', '/account/revoke', { method: 'POST', body: new URLSearchParams({ csrf: 'x' }) }],
    ['GET', '/sign-in/some-interaction', {}],
    ['GET', '/device', {}],
    ['POST', '/device', { method: 'POST', body: new URLSearchParams({ user_code: 'BCDFGHJK' }) }],
    ['GET', '/logout', {}],
  ];

  test.each(requests)('fail closed with a page and Retry-After: %s %s', async (_m, path, init) => {
    const reply = await fetch(server.issuer + path, { ...init, redirect: 'manual' });
    const body = await reply.text();
    expect([path, reply.status]).toEqual([path, 503]);
    expect(body).toContain('<h1>');
    expect(reply.headers.get('retry-after')).toBe('1');
    expect(body).toContain('temporarily unavailable');
  });

  test('are available if they need no store', async () => {
    for (const path of ['/', '/assets/pages.css', '/logout/success']) {
      expect([path, (await fetch(server.issuer + path)).status]).toEqual([path, 200]);
    }
  });
});
