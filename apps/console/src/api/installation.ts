/** What belongs to the installation: tokens, signing keys, logs and settings. */
import { settingsSchemas } from '@gatehouse/identity';
import {
  auditFilter,
  invalidInput,
  parseInput,
  requestFilter,
  revocationEffect,
  revocationTarget,
  settingsMember,
  signingKeyView,
  signingPurpose,
  tokenView,
} from '@gatehouse/operators';
import { z } from 'zod';
import { changes } from './clients.ts';
import { operation, pageOf } from './operation.ts';

const token = z.strictObject({
  token: z.string().min(1).max(16_384).describe('A token or a code. Its value is hashed at once.'),
});

export const tokenOperations = [
  operation('tokens.find', 'POST /tokens/find', {
    summary: 'Find out what a token is',
    isRead: true,
    body: token,
    example: { token: 'l9Zc0wq3bT7yN4uXkP2sVg' },
    reply: tokenView.meta({ id: 'Token' }),
    run: ({ operators, body }) => operators.tokens.find(parseInput(token, body).token),
  }),
  operation('revocations.preview', 'POST /revocations/preview', {
    summary: 'Preview what a revocation ends',
    isRead: true,
    body: revocationTarget,
    example: { all: true },
    reply: revocationEffect,
    run: ({ operators, body }) => operators.tokens.previewRevocation(body),
  }),
  operation('revocations.create', 'POST /revocations', {
    summary: 'Revoke a token, or everything of a client, of a user, or of all',
    isPlain: true,
    description: 'It takes effect in all servers within 50 ms. A second revocation does no harm.',
    body: revocationTarget,
    example: { clientId: 'fleet' },
    reply: revocationEffect,
    run: ({ operators, operator, body }) => operators.tokens.revoke(operator, body),
  }),
];

const signingKeys = z.object({ items: z.array(signingKeyView.meta({ id: 'SigningKey' })) });
const purpose = z.strictObject({ purpose: signingPurpose });

export const signingKeyOperations = [
  operation('signing-keys.list', 'GET /signing-keys', {
    summary: 'List the signing keys and their schedule',
    reply: signingKeys,
    run: async ({ operators }) => ({ items: await operators.signingKeys.list() }),
  }),
  operation('signing-keys.create', 'POST /signing-keys', {
    summary: 'Publish a successor of a signing key',
    body: purpose,
    example: { purpose: 'authorization-server' },
    reply: signingKeys,
    run: async ({ operators, operator, body }) => ({
      items: await operators.signingKeys.rotate(operator, parseInput(purpose, body).purpose),
    }),
  }),
];

const auditEntry = z
  .looseObject({
    ...{ id: z.string(), at: z.string(), event: z.string() },
    ...{ severity: z.string(), outcome: z.string() },
  })
  .meta({ id: 'AuditEntry' });
const requestEntry = z
  .looseObject({ time: z.string(), requestId: z.string(), app: z.string(), operation: z.string() })
  .meta({ id: 'Request' });
/** A parameter of a URL cannot be a list. */
const auditQuery = auditFilter.extend({
  severities: z.string().optional().describe('Names with commas between them.'),
});

export const logOperations = [
  operation('audit.list', 'GET /audit', {
    summary: 'List the audit trail, newest first',
    query: auditQuery,
    reply: pageOf(auditEntry),
    run({ operators, query: { severities, ...query } }) {
      const list = severities?.split(',') as z.input<typeof auditFilter>['severities'];
      return operators.audit.list({ ...query, severities: list });
    },
  }),
  operation('requests.list', 'GET /requests', {
    summary: 'List the request log, newest first, with causes and remedies',
    query: requestFilter,
    reply: pageOf(requestEntry),
    run: ({ operators, query }) => operators.requests.list(query),
  }),
  operation('requests.groups', 'GET /requests/groups', {
    summary: 'Count the requests by code, client and operation',
    query: requestFilter.omit({ cursor: true }),
    reply: z.object({
      items: z.array(
        z.object({
          ...{ code: z.string().optional(), clientId: z.string().optional() },
          ...{ operation: z.string(), count: z.number() },
          first: z.number().describe('Epoch milliseconds.'),
          last: z.number().describe('Epoch milliseconds.'),
        }),
      ),
    }),
    run: async ({ operators, query }) => ({ items: await operators.requests.groups(query) }),
  }),
  operation('requests.read', 'GET /requests/{requestId}', {
    summary: 'Read the requests with an id, and their audit entries',
    reply: z.object({ requests: z.array(requestEntry), audit: z.array(auditEntry) }),
    run: ({ operators, path }) => operators.requests.read(path.requestId),
  }),
];

const value = z
  .union(Object.values(settingsSchemas) as unknown as readonly [z.ZodType, z.ZodType])
  .describe(
    `The whole member: ${settingsMember.options.join(', ')}. docs/configuration.md describes each of them.`,
  );
const settings = z
  .looseObject({})
  .describe('The declared members, as in a bootstrap file, without secrets.');
const declared = z.object({ version: z.string(), settings });
const named = z.object({ member: settingsMember });
const memberOf = (path: { readonly member: string }) => parseInput(named, path).member;
const toReply = ({ version, ...members }: { readonly version: string }) => ({
  ...{ version, settings: members },
});

export const settingsOperations = [
  operation('settings.read', 'GET /settings', {
    summary: 'Read the settings of the installation',
    reply: declared.extend({ effective: z.looseObject({}).describe('With every default.') }),
    async run({ operators }) {
      const { settings: view, effective } = await operators.settings.read();
      return { ...toReply(view), effective };
    },
  }),
  operation('settings.replace', 'PUT /settings/{member}', {
    summary: 'Replace a member of the settings',
    acceptsAnyJson: true,
    description: 'The whole member is replaced. An absent client secret of an upstream stays.',
    body: value,
    example: { data: true },
    reply: declared,
    async run({ operators, operator, path, body, condition }) {
      if (body === null) {
        throw invalidInput('body', 'must not be null. DELETE removes a member');
      }
      return toReply(await operators.settings.change(operator, memberOf(path), body, condition));
    },
  }),
  operation('settings.remove', 'DELETE /settings/{member}', {
    summary: 'Remove a member of the settings, so that its default applies',
    reply: declared,
    run: async ({ operators, operator, path, condition }) =>
      toReply(await operators.settings.change(operator, memberOf(path), null, condition)),
  }),
  operation('settings.preview', 'POST /settings/{member}/preview', {
    summary: 'Preview the replacement of a member of the settings',
    acceptsAnyJson: true,
    isRead: true,
    body: value,
    example: { data: true },
    reply: z.object({ changes }),
    run: ({ operators, path, body }) => operators.settings.previewChange(memberOf(path), body),
  }),
  operation('support-bundle.read', 'GET /support-bundle', {
    summary: 'Read what support needs to know, without secrets and names of users',
    reply: z.looseObject({ createdAt: z.string() }),
    run: ({ operators }) => operators.installation.supportBundle(),
  }),
];
