import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { ApiError } from '@gatehouse/errors';
import { createLogger, createRouter, observeRequests } from '@gatehouse/server';
import { describe, expect, test } from '@jest/globals';
import type { VerifiedRequest } from '../authentication/verified-request.ts';
import { deviceRoutes, type Entry, type Route } from '../routes/route.ts';
import { createExchange, type Exchange, type Pipeline } from './exchange.ts';
import { authenticate, authorize, findRoute, unrouted } from './stages.ts';

const deviceApi = 'https://api.example';
const route = {
  credentials: ['bearer'],
  scope: 'device:write',
  roles: [],
} as unknown as Route;

function authorizing(kind: string, scopes: readonly string[], asked: Route | undefined = route) {
  const verified = { kind, principal: { scopes: new Set(scopes) } } as unknown as VerifiedRequest;
  const exchange = { verified, route: asked } as Exchange;
  return () => authorize(exchange, { deviceApi } as Pipeline);
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

  test('may not use a route without its role, whatever its scopes', () => {
    const asked = { ...route, roles: ['accountant'] };
    expect(authorizing('bearer', ['device:write'], asked)).toThrow(
      expect.objectContaining({
        code: 'access_denied',
        reason: 'role_missing',
        headers: { 'WWW-Authenticate': expect.not.stringContaining('error=') },
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

const router = createRouter<Entry>(deviceRoutes);

function find(method: string, url: string): Exchange {
  const exchange = { method, message: { url } } as Exchange;
  findRoute(exchange, { router } as Pipeline);
  return exchange;
}

describe('the route of a request', () => {
  test.each([
    ['GET', '/api/device', 'device.list'],
    ['HEAD', '/api/device', 'device.list'],
    ['GET', '/api/v1/device/any%20id/_detail', 'device.detail'],
    ['POST', '/device-instance', 'device.create'],
  ])('for %s %s is %s', (method, path, operation) => {
    expect(find(method, path).route?.operation).toBe(operation);
  });

  test.each(['/', '/api', '/API/device', '/api/device/x', '/api/device/x/'])(
    'for %s does not exist',
    (path) => {
      expect(find('GET', path)).toMatchObject({ match: undefined, target: { path } });
    },
  );

  test('is that of the path without a trailing slash, and so is the target', () => {
    const { route: found, target } = find('GET', '/api/device/');
    expect(found?.operation).toBe('device.list');
    expect(target).toMatchObject({ path: '/api/device', segments: ['api', 'device'] });
  });
});
