import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { ApiError } from '@gatehouse/errors';
import { createLogger, observeRequests } from '@gatehouse/server';
import { describe, expect, test } from '@jest/globals';
import type { VerifiedRequest } from '../authentication/verified-request.ts';
import { deviceRoutes, type Route } from '../routes/route.ts';
import { createExchange, type Pipeline } from './exchange.ts';
import { authenticate, authorize, unrouted } from './stages.ts';

const deviceApi = 'https://api.example';
const route = {
  credentials: ['bearer'],
  scope: 'device:write',
  roles: [],
} as unknown as Route;

function authorizing(kind: string, scopes: readonly string[], asked: Route | undefined = route) {
  const verified = { kind, principal: { scopes: new Set(scopes) } } as unknown as VerifiedRequest;
  return () => authorize({ verified, route: asked, match: undefined }, { deviceApi });
}

describe('a verified caller', () => {
  test('may use a route that accepts the credential and whose scope, if any, it has', () => {
    expect(authorizing('bearer', ['device:write'])).not.toThrow();
    const { scope: _scope, ...open } = route;
    expect(authorizing('bearer', [], open as Route)).not.toThrow();
  });

  test('may not use a route that does not accept the credential', () => {
    expect(authorizing('signature', ['device:write'])).toThrow(
      expect.objectContaining({ code: 'unauthorized', reason: 'credential_kind_not_accepted' }),
    );
  });

  test('may not use a route without its scope, and the challenge names the scope', () => {
    expect(authorizing('bearer', ['device:read'])).toThrow(
      expect.objectContaining({
        code: 'access_denied',
        reason: 'access_denied',
        headers: {
          'WWW-Authenticate': expect.stringContaining(
            'error="insufficient_scope", scope="device:write"',
          ),
        },
      }),
    );
  });

  test('is rejected if its client is over the limit', async () => {
    const request = new IncomingMessage(new Socket());
    const response = new ServerResponse(request);
    const logger = createLogger({ app: 'test', level: 'silent' });
    observeRequests(() => undefined, logger)(request, response);
    const overLimit = new ApiError('too_many_requests');
    const pipeline = {
      authenticate: async () => ({ principal: { clientId: 'demo' } }),
      limits: {
        async countClient() {
          throw overLimit;
        },
      },
    } as unknown as Pipeline;
    const exchange = createExchange(request, response, () => false);
    await expect(authenticate(exchange, pipeline)).rejects.toBe(overLimit);
  });
});

test('Every path accepts the methods of its routes and OPTIONS.', () => {
  const others = deviceRoutes.filter(({ path }) => path === '/device/instance/_query');
  expect(unrouted({ entry: undefined, others }).headers).toEqual({
    Allow: 'POST, GET, HEAD, OPTIONS',
  });
});
