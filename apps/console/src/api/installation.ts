/** What belongs to the installation: tokens, signing keys, logs and settings. */
import {
  auditFilter,
  requestFilter,
  revocationEffect,
  revocationTarget,
  settingsMember,
  settingsSchemas,
  signingKeyView,
  signingPurpose,
  tokenView,
} from '@gatehouse/operators';
import { z } from 'zod';
import { changes } from './clients.ts';
import { operation, pageOf, parse } from './operation.ts';

const token = z.strictObject({
  token: z.string().min(1).max(16_384).describe('A token or a code. Its value is hashed at once.'),
});
const tokens = { tag: 'Tokens' } as const;

const tokenOperations = [
  operation({
    ...{ ...tokens, name: 'tokens.find', method: 'POST', path: '/tokens/find' },
    ...{ scope: 'operator:read', summary: 'Find out what a token is' },
    body: token,
    example: { token: 'l9Zc0wq3bT7yN4uXkP2sVg' },
    reply: tokenView.meta({ id: 'Token' }),
    run: ({ operators, body }) => operators.tokens.find(parse(token, body).token),
  }),
  operation({
    ...{ ...tokens, name: 'revocations.preview', method: 'POST', path: '/revocations/preview' },
    ...{ scope: 'operator:read', summary: 'Preview what a revocation ends' },
    body: revocationTarget,
    example: { all: true },
    reply: revocationEffect,
    run: ({ operators, body }) => operators.tokens.previewRevocation(body),
  }),
  operation({
    ...{ ...tokens, name: 'revocations.create', method: 'POST', path: '/revocations' },
    scope: 'operator:write',
    summary: 'Revoke a token, or everything of a client, of a user, or of all',
    description: 'It takes effect in all servers within 50 ms. A second revocation does no harm.',
    body: revocationTarget,
    example: { clientId: 'fleet' },
    reply: revocationEffect,
    run: ({ operators, operator, body }) => operators.tokens.revoke(operator, body),
  }),
];

const signingKeys = z.object({ items: z.array(signingKeyView.meta({ id: 'SigningKey' })) });
const purpose = z.strictObject({ purpose: signingPurpose });
const keys = { tag: 'Signing keys', path: '/signing-keys' } as const;

const signingKeyOperations = [
  operation({
    ...{ ...keys, name: 'signing-keys.list', method: 'GET', scope: 'operator:read' },
    summary: 'List the signing keys and their schedule',
    reply: signingKeys,
    run: async ({ operators }) => ({ items: await operators.signingKeys.list() }),
  }),
  operation({
    ...{ ...keys, name: 'signing-keys.create', method: 'POST', scope: 'operator:write' },
    ...{ summary: 'Publish a successor of a signing key', isCreation: true },
    body: purpose,
    example: { purpose: 'authorization-server' },
    reply: signingKeys,
    run: async ({ operators, operator, body }) => ({
      items: await operators.signingKeys.rotate(operator, parse(purpose, body).purpose),
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
const logs = { tag: 'Logs', method: 'GET', scope: 'operator:read' } as const;

const logOperations = [
  operation({
    ...{ ...logs, name: 'audit.list', path: '/audit' },
    summary: 'List the audit trail, newest first',
    query: auditQuery,
    reply: pageOf(auditEntry),
    run({ operators, query: { severities, ...query } }) {
      const list = severities?.split(',') as z.input<typeof auditFilter>['severities'];
      return operators.audit.list({ ...query, severities: list });
    },
  }),
  operation({
    ...{ ...logs, name: 'requests.list', path: '/requests' },
    summary: 'List the request log, newest first, with causes and remedies',
    query: requestFilter,
    reply: pageOf(requestEntry),
    run: ({ operators, query }) => operators.requests.list(query),
  }),
  operation({
    ...{ ...logs, name: 'requests.groups', path: '/requests/groups' },
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
  operation({
    ...{ ...logs, name: 'requests.read', path: '/requests/{requestId}' },
    summary: 'Read the requests with an id, and their audit entries',
    reply: z.object({ requests: z.array(requestEntry), audit: z.array(auditEntry) }),
    run: ({ operators, path }) => operators.requests.read(path.requestId),
  }),
];

const members = settingsMember.options;
const value = z
  .union(Object.values(settingsSchemas) as unknown as readonly [z.ZodType, z.ZodType])
  .describe(
    `The whole member: ${members.join(', ')}. docs/configuration.md describes each of them.`,
  );
const settings = z
  .looseObject({})
  .describe('The declared members, as in a bootstrap file, without secrets.');
const declared = z.object({ version: z.string(), settings });
const ofSettings = { tag: 'Settings' } as const;
const member = { ...ofSettings, path: '/settings/{member}', isConditional: true } as const;
const named = z.object({ member: settingsMember });
const memberOf = (path: { readonly member: string }) => parse(named, path).member;
const toReply = ({ version, ...view }: { readonly version: string }) => ({
  version,
  settings: view,
});

const settingsOperations = [
  operation({
    ...{ ...ofSettings, name: 'settings.read', method: 'GET', path: '/settings' },
    ...{ scope: 'operator:read', summary: 'Read the settings of the installation' },
    reply: declared.extend({ effective: z.looseObject({}).describe('With every default.') }),
    async run({ operators }) {
      const { settings: view, effective } = await operators.settings.read();
      return { ...toReply(view), effective };
    },
  }),
  operation({
    ...{ ...member, name: 'settings.replace', method: 'PUT', scope: 'operator:write' },
    ...{ summary: 'Replace a member of the settings', acceptsAnyJson: true },
    description: 'The whole member is replaced. An absent client secret of an upstream stays.',
    body: value,
    example: { data: true },
    reply: declared,
    run: async ({ operators, operator, path, body, condition }) =>
      toReply(await operators.settings.change(operator, memberOf(path), body, condition)),
  }),
  operation({
    ...{ ...member, name: 'settings.remove', method: 'DELETE', scope: 'operator:write' },
    summary: 'Remove a member of the settings, so that its default applies',
    reply: declared,
    run: async ({ operators, operator, path, condition }) =>
      toReply(await operators.settings.change(operator, memberOf(path), null, condition)),
  }),
  operation({
    ...{ ...ofSettings, name: 'settings.preview', method: 'POST', scope: 'operator:read' },
    ...{ path: '/settings/{member}/preview', acceptsAnyJson: true },
    summary: 'Preview the replacement of a member of the settings',
    body: value,
    example: { data: true },
    reply: z.object({ changes }),
    run: ({ operators, path, body }) => operators.settings.previewChange(memberOf(path), body),
  }),
];

const supportOperation = operation({
  ...{ tag: 'Settings', name: 'support-bundle.read', method: 'GET', path: '/support-bundle' },
  scope: 'operator:read',
  summary: 'Read what support needs to know, without secrets and users',
  reply: z.looseObject({ createdAt: z.string() }),
  run: ({ operators }) => operators.installation.supportBundle(),
});

export const installationOperations = [
  ...tokenOperations,
  ...signingKeyOperations,
  ...logOperations,
  ...settingsOperations,
  supportOperation,
];
