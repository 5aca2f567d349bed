/** Clients and their secure keys. */
import { ApiError } from '@gatehouse/errors';
import { registrationTokenSchema } from '@gatehouse/identity';
import {
  type ClientChange,
  type ClientView,
  clientChange,
  clientView,
  keyRotation,
  listedClient,
  memberFilter,
  newClient,
} from '@gatehouse/operators';
import { z } from 'zod';
import { type Call, operation, pageOf, parse, seconds, secret } from './operation.ts';

const client = clientView.meta({ id: 'Client' });
const common = { tag: 'Clients' } as const;
const one = { ...common, path: '/clients/{clientId}' } as const;

const removal = z.object({
  ...{ clientId: z.string(), orgId: z.string() },
  ...{ keys: z.number(), tokens: z.number() },
});

const change = z.object({
  member: z.string(),
  from: z.unknown().optional(),
  to: z.unknown().optional(),
});
export const changes = z.array(change).describe('Members with their values before and after.');

const flag = z.stringbool().or(z.boolean()).optional();
const keyRemovalQuery = z.strictObject({
  keepTokens: flag.describe('Tokens of the removed key stay valid until they expire.'),
  revoke: flag.describe('Also revoke every other token of the client.'),
});

export const clientOperations = [
  operation({
    ...{ ...common, name: 'clients.list', method: 'GET', path: '/clients' },
    ...{ scope: 'operator:read', summary: 'List clients' },
    query: memberFilter,
    reply: pageOf(listedClient.meta({ id: 'ListedClient' })),
    run: ({ operators, query }) => operators.clients.list(query),
  }),
  operation({
    ...{ ...common, name: 'clients.create', method: 'POST', path: '/clients' },
    ...{ scope: 'operator:write', summary: 'Create a client', isCreation: true },
    description:
      'Without `secureKey`, a client that needs a key gets a new one, which the reply contains.',
    body: newClient,
    example: { clientId: 'fleet', name: 'Fleet', orgId: 'acme', scopes: ['device:read'] },
    reply: z.object({ client, secureKey: secret('The generated secure key.').optional() }),
    location: ({ client: { clientId } }: { readonly client: ClientView }) =>
      `/clients/${encodeURIComponent(clientId)}`,
    run: ({ operators, operator, body }) => operators.clients.create(operator, body),
  }),
  operation({
    ...{ ...one, name: 'clients.read', method: 'GET', scope: 'operator:read' },
    summary: 'Read a client, and when it was last used',
    reply: z.object({
      ...clientView.shape,
      lastUsedAt: seconds.optional(),
      keyLastUsedAt: z.record(z.string(), seconds).describe('By key id.'),
    }),
    async run({ operators, path }) {
      const { client: view, lastUse } = await operators.clients.read(path.clientId);
      return { ...view, lastUsedAt: lastUse.at, keyLastUsedAt: lastUse.keys };
    },
  }),
  operation({
    ...{ ...one, name: 'clients.change', method: 'PATCH', scope: 'operator:write' },
    ...{ summary: 'Change a client', isConditional: true },
    description: 'Disabling and moving a client revoke everything issued to it.',
    body: clientChange,
    example: { name: 'Fleet service', ipAllowList: ['192.0.2.0/24'] },
    reply: client,
    run: ({ operators, operator, path: { clientId }, body, condition }) =>
      merging({ operators, clientId, body, condition }, (merged, seen) =>
        operators.clients.change(operator, clientId, merged, seen),
      ),
  }),
  operation({
    ...{ ...common, name: 'clients.preview-change', method: 'POST', scope: 'operator:read' },
    path: '/clients/{clientId}/preview',
    summary: 'Preview a change of a client',
    body: clientChange,
    example: { enabled: false },
    reply: z.object({
      changes,
      movesFrom: z.string().optional().describe('The organization that the client leaves.'),
      revokes: z.boolean().describe('Whether everything issued to the client ends.'),
      deletesKeys: z.boolean(),
    }),
    run: ({ operators, path: { clientId }, body }) =>
      merging({ operators, clientId, body, condition: {} }, (merged) =>
        operators.clients.previewChange(clientId, merged),
      ),
  }),
  operation({
    ...{ ...common, name: 'clients.preview-removal', method: 'GET', scope: 'operator:read' },
    path: '/clients/{clientId}/removal',
    summary: 'Preview the removal of a client',
    reply: removal,
    run: ({ operators, path }) => operators.clients.previewRemoval(path.clientId),
  }),
  operation({
    ...{ ...one, name: 'clients.remove', method: 'DELETE', scope: 'operator:write' },
    ...{ summary: 'Remove a client, and revoke everything issued to it', isConditional: true },
    reply: removal,
    run: ({ operators, operator, path, condition }) =>
      operators.clients.remove(operator, path.clientId, condition),
  }),
  operation({
    ...{ ...common, name: 'client-keys.create', method: 'POST', scope: 'operator:write' },
    ...{ path: '/clients/{clientId}/keys', summary: 'Add a secure key', isCreation: true },
    description: 'The existing key stays valid, unless `replaceOldest` removes the older of two.',
    body: keyRotation,
    example: {},
    reply: z.object({
      client,
      secureKey: secret('The new key.'),
      keyId: z.string(),
      replacedKeyId: z.string().optional(),
    }),
    run: ({ operators, operator, path, body }) =>
      operators.clientKeys.rotate(operator, path.clientId, body),
  }),
  operation({
    ...{ ...common, name: 'client-keys.remove', method: 'DELETE', scope: 'operator:write' },
    path: '/clients/{clientId}/keys/{keyId}',
    summary: 'Remove a secure key or a public key, and revoke its tokens',
    query: keyRemovalQuery,
    reply: client,
    run: ({ operators, operator, path, query }) =>
      operators.clientKeys.remove(
        operator,
        path.clientId,
        path.keyId,
        parse(keyRemovalQuery, query),
      ),
  }),
  operation({
    ...{ ...common, name: 'registration-tokens.create', method: 'POST' },
    ...{ path: '/registration-tokens', scope: 'operator:write', isCreation: true },
    summary: 'Issue a token with which its holder registers clients (RFC 7591)',
    body: registrationTokenSchema,
    example: { orgId: 'acme', redirectHosts: ['app.example.com'] },
    reply: z.looseObject({ token: secret('The token.'), expiresAt: seconds }),
    run: ({ operators, operator, body }) =>
      operators.clients.issueRegistrationToken(operator, body),
  }),
];

const ATTEMPTS = 5;

/**
 * RFC 7396: an object in a change merges with that of the client, so that
 * `{"lifetimes": {"accessToken": null}}` removes one lifetime. The change depends on the version that
 * was read. If another operator was faster, it is made again.
 */
async function merging<Result>(
  {
    operators,
    clientId,
    body,
    condition,
  }: Pick<Call, 'operators' | 'condition'> & {
    readonly clientId: string;
    readonly body: ClientChange;
  },
  act: (merged: ClientChange, condition: Call['condition']) => Promise<Result>,
): Promise<Result> {
  const nested = Object.entries(body).filter(([, value]) => isObject(value));
  if (nested.length === 0) {
    return act(body, condition);
  }
  for (let attempt = 1; ; attempt += 1) {
    const { client: current } = await operators.clients.read(clientId);
    const merged = nested.map(([name, value]) => [
      name,
      mergePatch(Reflect.get(current, name), value),
    ]);
    const ifVersion = condition.ifVersion ?? current.version;
    try {
      return await act({ ...body, ...Object.fromEntries(merged) }, { ifVersion });
    } catch (error) {
      const isOutdated = error instanceof ApiError && error.code === 'precondition_failed';
      if (!isOutdated || condition.ifVersion !== undefined || attempt === ATTEMPTS) {
        throw error;
      }
    }
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** RFC 7396 §2. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) {
    return patch;
  }
  const merged = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) {
      merged.delete(name);
    } else {
      merged.set(name, mergePatch(merged.get(name), value));
    }
  }
  return Object.fromEntries(merged);
}
