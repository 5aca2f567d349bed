import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { ApiError } from '@gatehouse/errors';
import { createLogger, createRouter, observeRequests } from '@gatehouse/server';
import { describe, expect, test } from '@jest/globals';
import type { VerifiedRequest } from '../authentication/verified-request.ts';
import { deviceRoutes, type Entry, type Route } from '../routes/route.ts';
import { createExchange, type Exchange, type Pipeline } from './exchange.ts';
import {
  assertNoUpgrade,
  assertServable,
  authenticate,
  authorize,
  findRoute,
  unrouted,
} from './stages.ts';

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
    const used: string[] = [];
    const pipeline = {
      lastUse: { noteClient: (clientId: string) => used.push(clientId) },
      authenticate: async () => ({ principal: { clientId: 'demo' } }),
      limits: {
        async countClient() {
          throw overLimit;
        },
      },
    } as unknown as Pipeline;
    const exchange = createExchange(request, response, () => false);
    await expect(authenticate(exchange, pipeline)).rejects.toBe(overLimit);
    expect(used).toEqual(['demo']);
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

function request(
  headers: Readonly<Record<string, string>> = {},
  others: Partial<IncomingMessage> = {},
): IncomingMessage {
  const base = { method: 'GET', url: '/', httpVersion: '1.1', headers };
  return { ...base, ...others } as IncomingMessage;
}

/** Undefined if the request may be served. */
function refusalOf(message: IncomingMessage, acceptsUpgrade = false): ApiError | undefined {
  try {
    const request = { message, method: message.method ?? '' };
    if (!acceptsUpgrade) {
      assertNoUpgrade(request);
    }
    assertServable(request);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError);
    return error as ApiError;
  }
}

const reasonOf = (message: IncomingMessage, acceptsUpgrade?: boolean) =>
  refusalOf(message, acceptsUpgrade)?.reason;

describe('a request that the gateway may serve', () => {
  test('has a known method', () => {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      expect(reasonOf(request({}, { method }))).toBeUndefined();
    }
    for (const method of ['TRACE', 'CONNECT', 'get']) {
      const refusal = refusalOf(request({}, { method }));
      expect(refusal?.reason).toBe('method_not_allowed');
      expect(refusal?.headers).toEqual({ Allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' });
    }
  });

  test('has a path', () => {
    expect(reasonOf(request({}, { method: 'OPTIONS', url: '*' }))).toBe('method_not_allowed');
  });

  test('asks for no upgrade but h2c, except where the route accepts one', () => {
    for (const upgrade of ['websocket', 'h2', 'h2c, websocket']) {
      expect(reasonOf(request({ upgrade }))).toBe('upgrade_not_accepted');
      expect(reasonOf(request({ upgrade }), true)).toBeUndefined();
    }
    expect(reasonOf(request({ upgrade: ' H2C' }))).toBeUndefined();
  });

  test('has no ambiguous framing, and otherwise the connection closes', () => {
    const refusal = refusalOf(request({ 'transfer-encoding': 'gzip, chunked' }));
    expect(refusal?.reason).toBe('framing_ambiguous');
    expect(refusal?.headers).toEqual({ Connection: 'close' });
    expect(refusal?.result).toEqual([
      { property: 'Transfer-Encoding', message: 'must be chunked' },
    ]);
    expect(reasonOf(request({ 'transfer-encoding': 'chunked' }))).toBeUndefined();
  });

  test.each<[IncomingMessage, string | undefined]>([
    [request({ 'content-encoding': 'gzip' }), 'unsupported_media_type'],
    [request({ host: 'api.example:8443' }), undefined],
    [request({ host: 'user@api.example' }), 'http_invalid'],
    [request({}, { httpVersion: '1.0' }), undefined],
    [request({}, { httpVersion: '1.2' }), 'http_invalid'],
  ])('%j has the reason %s', (message, reason) => {
    expect(reasonOf(message)).toBe(reason);
  });
});
