/**
 * Sends a request to every route of /openapi.json, with the examples of the document, and validates
 * the replies. Other suites validate the replies to their own requests in the same way.
 */

import { postAs, signatureHeaders } from '@gatehouse/testing';
import { createReplyValidator, type DescribedApi } from '@gatehouse/testing/open-api';
import { startSystem } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';

interface DescribedOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly example: unknown }>>;
  };
  readonly parameters?: readonly { readonly $ref: string }[];
}

interface Document extends DescribedApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
}

const caller = { clientId: 'caller', secureKey: 'openApiKey0123456789abc' };
const scopes = ['device:read', 'device:write', 'device:log', 'device:report'];

const system = await startSystem({
  engine: 'sqlite',
  bootstrap: {
    organizations: [{ id: 'acme', name: 'Acme' }],
    clients: [
      { ...caller, name: 'Caller', orgId: 'acme', grantTypes: ['client_credentials'], scopes },
    ],
  },
});
const document = (await (await fetch(`${system.gatewayUrl}/openapi.json`)).json()) as Document;
const assertFits = createReplyValidator(document);
const described = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({
    route: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    target: path
      .replace('{deviceId}', 'pump-1')
      .replace('{productId}', 'pump')
      .replace('{tagId}', 'site'),
    operation,
  })),
);
const ofDevices = described.filter(
  ({ operation }) => !['Gateway', 'Tokens'].includes(operation.tags[0] ?? ''),
);
const token = await tokenOf(scopes);
const tokensWithout = new Map(
  await Promise.all(
    scopes.map(async (missing) => {
      const others = scopes.filter((scope) => scope !== missing);
      return [missing, await tokenOf(others)] as const;
    }),
  ),
);

async function tokenOf(wanted: readonly string[]): Promise<string> {
  const form = { grant_type: 'client_credentials', scope: wanted.join(' ') };
  const reply = await postAs(`${system.authorizationServerUrl}/token`, caller, form);
  return String(Reflect.get((await reply.json()) as object, 'access_token'));
}

/** Sends a request and validates its reply. */
async function call(
  method: string,
  target: string,
  {
    body,
    headers = { authorization: `Bearer ${token}` },
  }: { readonly body?: unknown; readonly headers?: object } = {},
) {
  const reply = await fetch(`${system.gatewayUrl}${target}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : (JSON.stringify(body) ?? null),
  });
  const received = (await reply.json()) as { readonly code: string };
  assertFits({ method, target, status: reply.status, body: received });
  return { status: reply.status, code: received.code };
}

/** The example of the request body. */
function exampleOf({ requestBody }: DescribedOperation): unknown {
  return requestBody?.content['application/json']?.example;
}

/** Creates the device of the examples again, with its product and a tag, unless the route does so. */
async function prepare(operation: DescribedOperation): Promise<void> {
  await call('POST', '/device/instance/pump-1/_unDeploy');
  await call('DELETE', '/device/instance/pump-1');
  const isCreation = /^device\.create(?!-batch)/.test(operation.operationId);
  const device = {
    id: isCreation ? 'pump-0' : 'pump-1',
    name: 'Pump',
    productId: 'pump',
    productName: 'Pump',
  };
  await call('POST', '/device/instance', { body: device });
  if (!isCreation) {
    await call('PATCH', '/device/instance/pump-1/tag', { body: { key: 'site', value: 'Hall 4' } });
    await call('POST', '/device/instance/pump-1/log', { body: [{ type: 'event', content: 'on' }] });
  }
}

describe('a described route', () => {
  test.each(ofDevices)(
    '$route replies as described to its example',
    async ({ method, target, operation }) => {
      await prepare(operation);
      expect(await call(method, target, { body: exampleOf(operation) })).toEqual({
        status: 200,
        code: 'success',
      });
    },
  );

  test.each(ofDevices)(
    '$route rejects requests as described',
    async ({ method, target, operation }) => {
      const body = exampleOf(operation);
      const noCredential = await call(method, target, { body, headers: {} });
      expect(noCredential).toEqual({ status: 401, code: 'unauthorized' });
      const [needed = ''] = operation.security[0]?.accessToken ?? [];
      const authorization = `Bearer ${tokensWithout.get(needed)}`;
      const wrongScope = await call(method, target, { body, headers: { authorization } });
      expect(wrongScope).toEqual({ status: 403, code: 'access_denied' });
      if (operation.parameters?.some(({ $ref }) => /(?:device|product)Id$/.test($ref))) {
        const unknown = target.replace(/pump(?:-1)?/, 'unknown');
        expect(await call(method, unknown, { body })).toEqual({ status: 404, code: 'not_found' });
      }
      if (operation.requestBody !== undefined) {
        const malformed = await call(method, target, { body: '{' });
        expect(malformed).toEqual({ status: 400, code: 'illegal_argument' });
        const text = { authorization: `Bearer ${token}`, 'content-type': 'text/plain' };
        expect(await call(method, target, { body: 'x', headers: text })).toEqual({
          status: 415,
          code: 'unsupported_media_type',
        });
      }
    },
  );

  test('POST /api/v1/token replies as described to its example', async () => {
    const operation = document.paths['/api/v1/token']?.post as DescribedOperation;
    const body = JSON.stringify(exampleOf(operation));
    const headers = signatureHeaders(caller, body);
    const reply = await call('POST', '/api/v1/token', { body, headers });
    expect(reply).toEqual({ status: 200, code: 'success' });
    expect((await call('POST', '/api/v1/token', { body })).status).toBe(401);
  });

  test.each(described.filter(({ operation }) => operation.tags[0] === 'Gateway'))(
    '$route needs no credential',
    async ({ method, target }) => {
      const reply = await fetch(`${system.gatewayUrl}${target}`, { method });
      assertFits({ method, target, status: reply.status, body: await reply.json() });
      expect(reply.status).toBe(200);
    },
  );
});
