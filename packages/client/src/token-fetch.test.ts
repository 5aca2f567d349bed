import { describe, expect, test } from '@jest/globals';
import { GatehouseError } from './gatehouse-error.ts';
import { createTokenFetch, type TokenFetchOptions } from './token-fetch.ts';

type Reply = (request: Request) => Response | Promise<Response>;

/** A client whose token endpoint issues t1, t2 and so on, and whose gateway is a function. */
function tokenClient(gateway: Reply, options: Partial<TokenFetchOptions> = {}) {
  const sent: string[] = [];
  let issued = 0;
  const api = createTokenFetch({
    gateway: 'https://gateway.example',
    tokenEndpoint: 'https://server.example/token',
    clientId: 'a b',
    clientSecret: 'c:d',
    fetch: async (input, init) => {
      const request = new Request(input as string | URL, init);
      const { pathname } = new URL(request.url);
      const credential = request.headers.get('authorization');
      sent.push(`${request.method} ${pathname} ${credential} ${await request.clone().text()}`);
      if (pathname === '/token') {
        issued += 1;
        return Response.json({ access_token: `t${issued}`, expires_in: 7200 });
      }
      return gateway(request);
    },
    ...options,
  });
  return { api, sent };
}

const token = `POST /token Basic ${btoa('a%20b:c%3Ad')} grant_type=client_credentials`;

function failure(status: number, code: string, result?: unknown, headers = {}) {
  const envelope = { status, code, message: code, timestamp: 1, result };
  return Response.json(envelope, { status, headers });
}

describe('createTokenFetch', () => {
  test('sends the token, encodes the credentials of the client, and caches', async () => {
    const { api, sent } = tokenClient(() => Response.json({}), { scope: 'device:read' });
    await Promise.all([api('/a'), api(new URL('https://gateway.example/b'))]);
    expect(sent).toEqual([
      `${token}&scope=device%3Aread`,
      'GET /a Bearer t1 ',
      'GET /b Bearer t1 ',
    ]);
  });

  test.each([
    ['a text', () => ['/a', { method: 'POST', body: 'x' }] as const],
    [
      'a Request',
      () => [new Request('https://gateway.example/a', { method: 'POST', body: 'x' })] as const,
    ],
  ])('gets another token once if the gateway rejects it, with %s', async (_name, call) => {
    const expired = { text: 'expired', value: 'expired' };
    const { api, sent } = tokenClient(() => failure(401, 'unauthorized', expired));
    const [input, init] = call();
    expect((await api(input, init)).status).toBe(401);
    expect(sent).toEqual([token, 'POST /a Bearer t1 x', token, 'POST /a Bearer t2 x']);
  });

  test.each([
    ['GET', 503, 2],
    ['GET', 429, 2],
    ['POST', 429, 2],
    ['POST', 503, 1],
    ['GET', 500, 1],
  ])('sends a %s that got %i %i times', async (method, status, times) => {
    let count = 0;
    const { api } = tokenClient(() => {
      count += 1;
      return count === 1 ? failure(status, 'x', [], { 'Retry-After': '0' }) : Response.json({});
    });
    expect((await api('/a', { method })).status).toBe(times === 2 ? 200 : status);
    expect(count).toBe(times);
  });

  test('does not wait for a Retry-After beyond the deadline, or without one', async () => {
    for (const headers of [{ 'Retry-After': '60' }, {}]) {
      const { api, sent } = tokenClient(() => failure(503, 'service_unavailable', [], headers));
      expect((await api('/a')).status).toBe(503);
      expect(sent).toHaveLength(2);
    }
  });

  test('gives up after three attempts, with the cause', async () => {
    const cause = new TypeError('fetch failed');
    const { api, sent } = tokenClient(() => Promise.reject(cause));
    await expect(api('/a')).rejects.toMatchObject({ code: 'network_error', cause });
    expect(sent).toHaveLength(4);
  });

  test('gives up at the deadline', async () => {
    const { api } = tokenClient(
      ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
      { deadlineMilliseconds: 50 },
    );
    await expect(api('/a')).rejects.toMatchObject({ code: 'deadline_exceeded' });
  });

  test('reports the error of the token endpoint', async () => {
    const { api } = tokenClient(() => Response.json({}), {
      fetch: async () =>
        Response.json(
          { error: 'invalid_client', error_description: 'client authentication failed' },
          { status: 401, headers: { 'X-Request-Id': 'r1' } },
        ),
    });
    const error = await api('/a').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(GatehouseError);
    expect(error).toMatchObject({
      ...{ code: 'invalid_client', status: 401, requestId: 'r1' },
      message: 'client authentication failed',
    });
  });

  test('sends no token to another origin', async () => {
    const { api, sent } = tokenClient(() => Response.json({}));
    await expect(api('https://other.example/')).rejects.toMatchObject({ code: 'wrong_origin' });
    expect(sent).toEqual([]);
  });
});
