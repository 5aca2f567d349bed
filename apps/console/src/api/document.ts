/** The OpenAPI 3.1 document of the management API, generated from the list of its operations. */
import { type ErrorCode, errorCatalogue } from '@gatehouse/errors';
import { operatorScopes } from '@gatehouse/identity';
import { z } from 'zod';
import type { Places } from './authenticate.ts';
import { BASE_PATH, type Operation } from './operation.ts';

type Json = Readonly<Record<string, unknown>>;

const description = `What operators do, for programs. Send an access token for this resource in \`Authorization\`. Users need a role of the setting \`operators\` and a second factor. Machines need the scope.

**Errors** are problem details (RFC 9457). Compare \`code\`, never \`detail\`. \`errors\` names every invalid member.

**Lists** have \`items\` and \`next\`, the \`cursor\` of the next page, and a \`Link\` to it. A page can have fewer items than \`limit\`, and even none, although there are more. Read until there is no \`next\`.

**Versions.** A reply with a \`version\` has it as \`ETag\`, too. Send it in \`If-Match\`, so that a change does not overwrite that of another operator: a changed resource is 412. Without \`If-Match\`, the members in the request replace those of any version.

**Changes** (PATCH) are JSON merge patches (RFC 7396): absent members stay, and \`null\` removes a member.

**Creations** accept an \`Idempotency-Key\`, such as a UUID. Repeat a request whose reply was lost with the same key: within an hour, it gets the same reply, with the same secrets, and \`Idempotency-Replayed: true\`. Secrets are in no other reply. The same key with another request is 422, and while the first request runs 409.`;

const headers = {
  'X-Request-Id': header('The id of the request, for the request log and the audit trail.'),
  ETag: header('The version of the resource, for If-Match.'),
  Link: header('The next page, with rel="next".'),
  Location: header('The address of what was created.'),
  'Idempotency-Replayed': header('`true` if the reply is that of an earlier request.'),
  'WWW-Authenticate': header('How to authenticate (RFC 6750, RFC 9470, RFC 9728).'),
  'Retry-After': header('Seconds to wait before the next request.'),
};

const parameters = {
  'If-Match': inHeader('If-Match', 'The ETag of the version that the caller saw.'),
  'If-None-Match': inHeader('If-None-Match', 'The ETag of the version that the caller has.'),
  'Idempotency-Key': inHeader('Idempotency-Key', 'The same text for every repetition.'),
};

const common: readonly ErrorCode[] = [
  ...(['illegal_argument', 'unauthorized', 'access_denied', 'request_timeout'] as const),
  ...(['too_many_requests', 'internal_server_error', 'service_unavailable'] as const),
];

export function createDocument(operations: readonly Operation[], { issuer, consoleUrl }: Places) {
  const bodies = convert('input', operations, ({ body }) => body);
  const queries = convert('input', operations, ({ query }) => query);
  const replies = convert('output', operations, ({ reply }) => reply);
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of operations) {
    const { name, path, method } = operation;
    const schemas = {
      ...{ body: bodies.byName[name], query: queries.byName[name], reply: replies.byName[name] },
    };
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(operation, schemas) };
  }
  const scopes = Object.fromEntries(operatorScopes.map((scope) => [scope, scopeTexts[scope]]));
  const [tokenUrl, authorizationUrl] = [`${issuer}/token`, `${issuer}/authorize`];
  return {
    openapi: '3.1.1',
    info: {
      ...{ title: 'Gatehouse management API', version: '1', description },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: consoleUrl + BASE_PATH }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({
      name,
      description: tagTexts[name],
    })),
    paths,
    components: {
      securitySchemes: {
        accessToken: {
          type: 'oauth2',
          flows: {
            clientCredentials: { tokenUrl, scopes },
            authorizationCode: { authorizationUrl, tokenUrl, refreshUrl: tokenUrl, scopes },
          },
        },
      },
      headers,
      parameters,
      responses: errorResponses(operations),
      schemas: {
        Problem: problemSchema(),
        ...{ ...bodies.components, ...queries.components, ...replies.components },
      },
    },
  };
}

const scopeTexts = {
  'operator:read': 'Read everything, without secrets.',
  'operator:write': 'Change everything.',
};

const tagTexts: Readonly<Record<string, string>> = {
  Organizations: 'Organizations own clients, users and devices.',
  Clients: 'OAuth clients and their keys.',
  Users: 'Accounts, and what gives access to them.',
  Tokens: 'What a token is, and how to revoke it.',
  'Signing keys': 'The keys that sign tokens.',
  Logs: 'Who did what, and why requests failed.',
  Settings: 'The settings of the installation.',
};

interface Schemas {
  readonly body: Json | undefined;
  readonly query: Json | undefined;
  readonly reply: Json | undefined;
}

function describe(operation: Operation, { body, query, reply }: Schemas): Json {
  const { name, path, method, scope, tag, summary, example, isCreation } = operation;
  const content = { schema: body, ...(example !== undefined && { example }) };
  const hasVersion = JSON.stringify(reply).includes('"version"') && method !== 'POST';
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const described = [
    ...inPath(path),
    ...inQuery(query),
    ...(operation.isConditional ? [component('parameters', 'If-Match')] : []),
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
    ...{ operationId: name, tags: [tag], summary },
    ...(operation.description && { description: operation.description }),
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
    ...common,
    ...(path.includes('{') || body !== undefined ? ['not_found' as const] : []),
    ...(method === 'GET' ? [] : ['conflict' as const]),
    ...(isConditional ? ['precondition_failed' as const] : []),
    ...(body === undefined ? [] : (['payload_too_large', 'unsupported_media_type'] as const)),
    ...(isCreation ? ['idempotency_key_reused' as const] : []),
  ];
}

function inPath(path: string): readonly Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    ...{ name, in: 'path', required: true, schema: { type: 'string' } },
  }));
}

function inQuery(query: Json | undefined): readonly Json[] {
  const { properties = {} } = (query ?? {}) as { readonly properties?: Json };
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema }));
}

/** A schema with an id becomes a component. The others are inline. */
function convert(
  io: 'input' | 'output',
  operations: readonly Operation[],
  schemaOf: (operation: Operation) => z.ZodType | undefined,
) {
  const used = operations.flatMap((operation) => {
    const schema = schemaOf(operation);
    return schema === undefined ? [] : [[operation.name, schema] as const];
  });
  const converted = z.toJSONSchema(z.object(Object.fromEntries(used)), {
    ...{ io, unrepresentable: 'any' },
    override: ({ jsonSchema }) => {
      delete jsonSchema.id;
      delete jsonSchema.readOnly;
    },
  });
  const { properties, $defs = {} } = JSON.parse(
    JSON.stringify(converted).replaceAll('"#/$defs/', '"#/components/schemas/'),
  ) as { readonly properties: Record<string, Json>; readonly $defs?: Record<string, Json> };
  return { byName: properties, components: $defs };
}

function problemSchema(): Json {
  const text = { type: 'string' };
  const error = { type: 'object', required: ['property', 'message'] };
  return {
    ...{ type: 'object', description: 'Problem details (RFC 9457).', additionalProperties: false },
    required: ['title', 'status', 'code', 'detail', 'requestId'],
    properties: {
      title: { ...text, description: 'The name of the status.' },
      status: { type: 'integer' },
      code: { ...text, enum: Object.keys(errorCatalogue) },
      detail: { ...text, description: 'What was found, and how to fix it. For people.' },
      requestId: text,
      errors: {
        ...{ type: 'array', description: 'Every invalid member.' },
        items: { ...error, properties: { property: text, message: text } },
      },
    },
  };
}

/** Only those that an operation names. */
function errorResponses(operations: readonly Operation[]): Json {
  const codes = new Set(operations.flatMap(codesOf));
  const used = Object.entries(errorCatalogue).filter(([code]) => codes.has(code as ErrorCode));
  const byStatus = Map.groupBy(used, ([, { status }]) => status);
  const content = { 'application/problem+json': { schema: component('schemas', 'Problem') } };
  const responses = [...byStatus].map(([status, errors]) => [
    `Error${status}`,
    {
      description: errors.map(([code, { message }]) => `\`${code}\`: ${message}`).join('\n\n'),
      headers: headersNamed(
        'X-Request-Id',
        ...(status === 401 || status === 403 ? ['WWW-Authenticate'] : []),
        ...(status === 429 || status === 503 ? ['Retry-After'] : []),
      ),
      content,
    },
  ]);
  const other = { description: 'Any other error.', headers: headersNamed('X-Request-Id'), content };
  return { ...Object.fromEntries(responses), Error: other };
}

function header(text: string): Json {
  return { description: text, schema: { type: 'string' } };
}

function inHeader(name: string, text: string): Json {
  return { name, in: 'header', description: text, schema: { type: 'string' } };
}

const component = (kind: string, name: string): Json => ({ $ref: `#/components/${kind}/${name}` });

const headersNamed = (...names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, component('headers', name)]));
