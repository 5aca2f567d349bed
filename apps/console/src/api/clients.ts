/** Clients and their secure keys. */
import { auditedChange, registrationTokenSchema } from '@gatehouse/identity';
import {
  type ClientView,
  clientChange,
  clientView,
  keyRemoval,
  keyRotation,
  listedClient,
  memberFilter,
  newClient,
} from '@gatehouse/operators';
import { z } from 'zod';
import { operation, pageOf, seconds, secret } from './operation.ts';

const client = clientView.meta({ id: 'Client' });

const removal = z.object({
  ...{ clientId: z.string(), orgId: z.string() },
  ...{ keys: z.number(), tokens: z.number() },
});

export const changes = z
  .array(auditedChange)
  .describe('Members with their values before and after.');

export const clientOperations = [
  operation('clients.list', 'GET /clients', {
    summary: 'List clients',
    query: memberFilter,
    reply: pageOf(listedClient.meta({ id: 'ListedClient' })),
    run: ({ operators, query }) => operators.clients.list(query),
  }),
  operation('clients.create', 'POST /clients', {
    summary: 'Create a client',
    description:
      'Without `secureKey`, a client that needs a key gets a new one, which the reply contains.',
    body: newClient,
    example: { clientId: 'fleet', name: 'Fleet', orgId: 'acme', scopes: ['device:read'] },
    reply: z.object({ client, secureKey: secret('The generated secure key.').optional() }),
    location: ({ client: { clientId } }: { readonly client: ClientView }) =>
      `/clients/${encodeURIComponent(clientId)}`,
    run: ({ operators, operator, body }) => operators.clients.create(operator, body),
  }),
  operation('clients.read', 'GET /clients/{clientId}', {
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
  operation('clients.change', 'PATCH /clients/{clientId}', {
    summary: 'Change a client',
    description: 'Disabling and moving a client revoke everything issued to it.',
    body: clientChange,
    example: { name: 'Fleet service', ipAllowList: ['192.0.2.0/24'] },
    reply: client,
    run: ({ operators, operator, path, body, condition }) =>
      operators.clients.change(operator, path.clientId, body, condition),
  }),
  operation('clients.preview-change', 'POST /clients/{clientId}/preview', {
    summary: 'Preview a change of a client',
    isRead: true,
    body: clientChange,
    example: { enabled: false },
    reply: z.object({
      changes,
      movesFrom: z.string().optional().describe('The organization that the client leaves.'),
      revokes: z.boolean().describe('Whether everything issued to the client ends.'),
      deletesKeys: z.boolean(),
    }),
    run: ({ operators, path, body }) => operators.clients.previewChange(path.clientId, body),
  }),
  operation('clients.preview-removal', 'GET /clients/{clientId}/removal', {
    summary: 'Preview the removal of a client',
    reply: removal,
    run: ({ operators, path }) => operators.clients.previewRemoval(path.clientId),
  }),
  operation('clients.remove', 'DELETE /clients/{clientId}', {
    summary: 'Remove a client, and revoke everything issued to it',
    reply: removal,
    run: ({ operators, operator, path, condition }) =>
      operators.clients.remove(operator, path.clientId, condition),
  }),
  operation('client-keys.create', 'POST /clients/{clientId}/keys', {
    summary: 'Add a secure key',
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
  operation('client-keys.remove', 'DELETE /clients/{clientId}/keys/{keyId}', {
    summary: 'Remove a secure key or a public key, and revoke its tokens',
    isPlain: true,
    query: keyRemoval,
    reply: client,
    run: ({ operators, operator, path: { clientId, keyId }, query }) =>
      operators.clientKeys.remove(operator, clientId, keyId, query),
  }),
  operation('registration-tokens.create', 'POST /registration-tokens', {
    summary: 'Issue a token with which its holder registers clients (RFC 7591)',
    body: registrationTokenSchema,
    example: { orgId: 'acme', redirectHosts: ['app.example.com'] },
    reply: z.looseObject({ token: secret('The token.'), expiresAt: seconds }),
    run: ({ operators, operator, body }) =>
      operators.clients.issueRegistrationToken(operator, body),
  }),
];
