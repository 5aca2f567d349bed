/** All operations of the management API, and the OpenAPI 3.1 document that is generated from them. */
import {
  component,
  convert,
  errorResponses,
  headersNamed,
  type Json,
  oauthFlows,
} from '@gatehouse/device-api/openapi-parts';
import { type ErrorCode, errorCatalogue } from '@gatehouse/errors';
import type { OperatorScope } from '@gatehouse/identity';
import type { Places } from './authenticate.ts';
import { clientOperations } from './clients.ts';
import { declarationOperations } from './declarations.ts';
import {
  logOperations,
  settingsOperations,
  signingKeyOperations,
  tokenOperations,
} from './installation.ts';
import { BASE_PATH, type Operation } from './operation.ts';
import { organizationOperations } from './organizations.ts';
import { userOperations } from './users.ts';

/** By the tag of the document. */
const groups: Readonly<Record<string, readonly [string, readonly Operation[]]>> = {
  Organizations: ['Organizations own clients, users and devices.', organizationOperations],
  Clients: ['OAuth clients and their keys.', clientOperations],
  Users: ['Accounts, and what gives access to them.', userOperations],
  Declarations: ['Organizations, clients and settings as files.', declarationOperations],
  Tokens: ['What a token is, and how to revoke it.', tokenOperations],
  'Signing keys': ['The keys that sign tokens.', signingKeyOperations],
  Logs: ['Who did what, and why requests failed.', logOperations],
  Settings: ['The settings of the installation.', settingsOperations],
};

export const operations = Object.values(groups).flatMap(([, ofGroup]) => ofGroup);

const scopes: Readonly<Record<OperatorScope, string>> = {
  'operator:read': 'Read everything, without secrets.',
  'operator:write': 'Change everything.',
};

const description = `What operators do, for programs. Send an access token for this resource in \`Authorization\`. Users need a role of the setting \`operators\` and a second factor. Machines need the scope.

**Errors** are problem details (RFC 9457). Compare \`code\`, never \`detail\`. \`errors\` names every invalid member.

**Lists** have \`items\` and \`next\`, the \`cursor\` of the next page, and a \`Link\` to it. A page can have fewer items than \`limit\`, and even none, although there are more. Read until there is no \`next\`.

**Versions.** A reply with a \`version\` has it as \`ETag\`, too. Send it in \`If-Match\`, so that a change does not overwrite that of another operator: a changed resource is 412. Without \`If-Match\`, the members in the request replace those of any version.

**Changes** (PATCH) are JSON merge patches (RFC 7396): absent members stay, and \`null\` removes a member.

**Creations** accept an \`Idempotency-Key\`, such as a UUID. Repeat a request whose reply was lost with the same key: within an hour, it gets the same reply, with the same secrets, and \`Idempotency-Replayed: true\`. Secrets are in no other reply. The same key with another request is 422, and while the first request runs 409.`;

const text = { type: 'string' };
const header = (about: string) => ({ description: about, schema: text });

const headers = {
  'X-Request-Id': header('The id of the request, for the request log and the audit trail.'),
  ETag: header('The version of the resource, for If-Match.'),
  Link: header('The next page, with rel="next".'),
  Location: header('The address of what was created.'),
  'Idempotency-Replayed': header('`true` if the reply is that of an earlier request.'),
  'WWW-Authenticate': header('How to authenticate (RFC 6750, RFC 9470, RFC 9728).'),
  'Retry-After': header('Seconds to wait before the next request.'),
};

const inHeader = (name: string, about: string) => ({ name, in: 'header', ...header(about) });

const parameters = {
  'If-Match': inHeader('If-Match', 'The ETag of the version that the caller saw.'),
  'If-None-Match': inHeader('If-None-Match', 'The ETag of the version that the caller has.'),
  'Idempotency-Key': inHeader('Idempotency-Key', 'The same text for every repetition.'),
};

export function createDocument({ issuer, consoleUrl }: Places) {
  const inputs = convert(
    'input',
    operations.flatMap(({ name, body, query }) => [
      [`${name} body`, body] as const,
      [`${name} query`, query] as const,
    ]),
  );
  const outputs = convert(
    'output',
    operations.map(({ name, reply }) => [name, reply]),
  );
  const paths: Record<string, Record<string, Json>> = {};
  for (const [tag, [, ofGroup]] of Object.entries(groups)) {
    for (const operation of ofGroup) {
      const { name, path, method } = operation;
      const described = describe(operation, {
        body: inputs.byName[`${name} body`],
        query: inputs.byName[`${name} query`],
        reply: outputs.byName[name],
      });
      paths[path] = { ...paths[path], [method.toLowerCase()]: { ...described, tags: [tag] } };
    }
  }
  const codes = new Set<string>(operations.flatMap(codesOf));
  const errors = Object.entries(errorCatalogue).filter(([code]) => codes.has(code));
  const problem = { 'application/problem+json': { schema: component('schemas', 'Problem') } };
  return {
    openapi: '3.1.1',
    info: {
      ...{ title: 'Gatehouse management API', version: '1', description },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: consoleUrl + BASE_PATH }],
    tags: Object.entries(groups).map(([name, [about]]) => ({ name, description: about })),
    paths,
    components: {
      securitySchemes: { accessToken: { type: 'oauth2', flows: oauthFlows(issuer, scopes) } },
      ...{ headers, parameters },
      responses: errorResponses(Object.fromEntries(errors), () => problem),
      schemas: { Problem: problemSchema, ...inputs.components, ...outputs.components },
    },
  };
}

function describe(
  operation: Operation,
  { body, query, reply }: Readonly<Record<'body' | 'query' | 'reply', Json | undefined>>,
): Json {
  const { name, path, method, scope, summary, description: about, example } = operation;
  const { isCreation, isConditional } = operation;
  const content = { schema: body, ...(example !== undefined && { example }) };
  const hasVersion = JSON.stringify(reply).includes('"version"') && method !== 'POST';
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => ({
    ...{ name: parameter, in: 'path', required: true, schema: text },
  }));
  const inQuery = Object.entries(Object(query?.properties)).map(([parameter, schema]) => ({
    ...{ name: parameter, in: 'query', schema },
  }));
  const described = [
    ...[...inPath, ...inQuery],
    ...(isConditional ? [component('parameters', 'If-Match')] : []),
    ...(method === 'GET' && hasVersion ? [component('parameters', 'If-None-Match')] : []),
    ...(isCreation ? [component('parameters', 'Idempotency-Key')] : []),
  ];
  const statuses = [...new Set(codesOf(operation).map((code) => errorCatalogue[code].status))];
  const success = {
    description: 'The result.',
    headers: headersNamed(
      ...['X-Request-Id', ...(hasVersion ? ['ETag'] : []), ...(query ? ['Link'] : [])],
      ...(isCreation ? ['Location', 'Idempotency-Replayed'] : []),
    ),
    content: { 'application/json': { schema: reply } },
  };
  return {
    ...{ operationId: name, summary, ...(about && { description: about }) },
    security: [{ accessToken: [scope] }],
    ...(described.length > 0 && { parameters: described }),
    ...(body && { requestBody: { required: true, content: { [type]: content } } }),
    responses: {
      [isCreation ? 201 : 200]: success,
      ...(method === 'GET' && hasVersion && { 304: { description: 'The caller has it.' } }),
      ...Object.fromEntries(statuses.map((each) => [each, component('responses', `Error${each}`)])),
      default: component('responses', 'Error'),
    },
  };
}

function codesOf({ path, method, body, isConditional, isCreation }: Operation): ErrorCode[] {
  return [
    ...(['illegal_argument', 'unauthorized', 'access_denied', 'request_timeout'] as const),
    ...(['too_many_requests', 'internal_server_error', 'service_unavailable'] as const),
    ...(path.includes('{') || body !== undefined ? ['not_found' as const] : []),
    ...(method === 'GET' ? [] : ['conflict' as const]),
    ...(isConditional ? ['precondition_failed' as const] : []),
    ...(body === undefined ? [] : (['payload_too_large', 'unsupported_media_type'] as const)),
    ...(isCreation ? ['idempotency_key_reused' as const] : []),
  ];
}

const problemSchema = {
  ...{ type: 'object', description: 'Problem details (RFC 9457).' },
  required: ['title', 'status', 'code', 'detail', 'requestId'],
  properties: {
    title: { ...text, description: 'The name of the status.' },
    status: { type: 'integer' },
    code: { ...text, enum: Object.keys(errorCatalogue) },
    detail: { ...text, description: 'What was found, and how to fix it. For people.' },
    requestId: text,
    errors: {
      ...{ type: 'array', description: 'Every invalid member.' },
      items: {
        ...{ type: 'object', required: ['property', 'message'] },
        properties: { property: text, message: text },
      },
    },
  },
};
