/**
 * The OpenAPI 3.1 document of the device API, generated from the entries of the operations.
 *
 *   schemas: operations, zod → JSON Schema ─▶ this file ◀─ components: parameters, credentials, errors
 *
 * The gateway serves it as /openapi.json. Tests validate replies with it.
 */
import { z } from 'zod';
import { EXAMPLE_TIME } from '../members.ts';
import { queryRequest } from '../queries.ts';
import {
  describeErrors,
  errorSchema,
  parameters,
  queryParameterNames,
  securityOf,
  securitySchemes,
} from './components.ts';
import { component, convert, type ErrorCatalogue, headersNamed, type Json } from './parts.ts';
import {
  type DescribedOperation,
  type Entry,
  entries,
  envelope,
  issueAccessToken,
  replyName,
} from './schemas.ts';

/** A served route of the device API. */
export interface DescribedRoute {
  readonly operation: DescribedOperation;
  readonly method: string;
  /** `{name}` matches one segment. */
  readonly path: string;
  /** Undefined: every authenticated caller may use the route. */
  readonly scope: string | undefined;
  /** The kinds of credential that the route accepts. */
  readonly credentials: readonly ('signature' | 'access-token' | 'bearer')[];
}

export type OpenApiDocument = ReturnType<typeof createOpenApiDocument>;

const description = `Every reply is a JSON envelope. A successful one has the result of the operation in \`result\`. A failed one has a \`code\`, which is stable, and a \`message\` for people.

Send exactly one kind of credential: an OAuth access token, an X-Access-Token, or a signature. The gateway signs its replies to signed requests.

Every GET also accepts HEAD. Several operations have equivalent routes for existing clients, which differ only in their method or path. They are marked as deprecated, so that generators can omit them. They keep working.`;

const tags = [
  { name: 'Devices', description: 'Devices of the organization of the caller.' },
  { name: 'Tags', description: 'Tags of a device, one for each key.' },
  { name: 'Logs', description: 'Log records of a device.' },
  { name: 'Products', description: 'Products, which devices share.' },
  { name: 'Tokens', description: 'Tokens for clients that sign requests.' },
  { name: 'Gateway', description: 'Documents that need no credential.' },
];

const headers = {
  'X-Request-Id': header('The id of the request. Quote it when you ask for help.', 'string'),
  'X-Total-Count': header('The number of all records that match the query.', 'integer'),
  'X-Total-Count-Exact': header('`false` if counting stopped early.', 'string'),
  'WWW-Authenticate': header('How to authenticate (RFC 6750 §3).', 'string'),
  'X-Timestamp': header('Part of the signature of a reply, in epoch milliseconds.', 'string'),
  'X-Sign': header('The signature of the reply to a request with `X-Sign`.', 'string'),
  'X-Sign-V2': header('The signature of the reply to a request with `X-Sign-V2`.', 'string'),
  'Retry-After': header('Seconds to wait before the next request.', 'integer'),
};

export function createOpenApiDocument(served: {
  /** Of the gateway. */
  readonly publicUrl: string;
  readonly authorizationServerUrl: string;
  /** The served routes of the device API, the preferred route of each operation first. */
  readonly routes: readonly DescribedRoute[];
  /** The documents that the gateway serves without a credential, with their JSON Schemas. */
  readonly documents: readonly DescribedDocument[];
  /** All error codes of the platform API. */
  readonly errors: ErrorCatalogue;
}) {
  const { publicUrl, authorizationServerUrl, routes, documents, errors } = served;
  const requests = convert(
    'input',
    entries.map(({ name, request }) => [name, request]),
  );
  const replies = convert(
    'output',
    entries.map(({ name, reply }) => [name, reply]),
  );
  const paths: Record<string, Record<string, Json>> = {};
  const add = (path: string, method: string, operation: Json) => {
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  };
  const envelopes: Record<string, Json> = {};
  for (const route of routes) {
    const entry = entries.find(({ name }) => name === route.operation) as Entry;
    const isFirst = !(replyName(entry) in envelopes);
    envelopes[replyName(entry)] = envelope(entry, replies.byName[entry.name]);
    const described = describeRoute(route, entry, isFirst, requests.byName[entry.name]);
    add(route.path, route.method, described);
  }
  for (const document of documents) {
    add(document.path, 'GET', describeDocument(document));
  }
  const schemas = { ...requests.components, ...replies.components, ...envelopes };
  return {
    openapi: '3.1.1',
    info: {
      title: 'Device platform API',
      // Of the API. The version of the software would help an attacker.
      version: '1',
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl }],
    tags,
    paths,
    components: {
      securitySchemes: securitySchemes(authorizationServerUrl),
      parameters,
      headers,
      responses: describeErrors(errors),
      schemas: { Error: errorSchema(errors), ...schemas },
    },
  };
}

function header(text: string, type: string): Json {
  return { description: text, schema: { type } };
}

/** A document that the gateway serves without a credential. */
interface DescribedDocument {
  readonly operation: string;
  readonly path: string;
  readonly summary: string;
  /** The JSON Schema of the document, or of the result in its envelope. */
  readonly schema?: Json;
  readonly result?: Json;
}

function describeDocument({ operation: name, summary, ...document }: DescribedDocument): Json {
  const { result, schema = envelope({ name }, result) } = document;
  return {
    operationId: name,
    tags: ['Gateway'],
    summary,
    security: [],
    responses: {
      200: {
        description: 'The document.',
        headers: headersNamed('X-Request-Id'),
        content: { 'application/json': { schema } },
      },
      429: component('responses', 'Error429'),
      default: component('responses', 'Error'),
    },
  };
}

/** The statuses that every operation can return. The other ones depend on the operation. */
const COMMON_ERRORS = [400, 401, 403, 408, 429, 431, 500, 503];

/**
 * An equivalent route omits the example of its reply and the errors of each status, because they
 * would make the document much larger.
 */
function describeRoute(
  route: DescribedRoute,
  entry: Entry,
  isFirst: boolean,
  schema: Json | undefined,
): Json {
  const { operation, method, path } = route;
  const { summary, description: details, request, example } = entry;
  const isQuery = request === queryRequest;
  const hasBody = request !== undefined && method !== 'GET';
  const names = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name),
    ...(isQuery && method === 'GET' ? queryParameterNames : []),
    ...(entry.parameters ?? []),
    // The reply has texts for people.
    ...(JSON.stringify(example).includes('"text"') ? ['Accept-Language'] : []),
  ];
  const statuses = [
    ...COMMON_ERRORS,
    ...(path.includes('{') ? [404] : []),
    ...(hasBody ? [413, 415] : []),
    ...(operation === issueAccessToken ? [] : [502, 504]),
  ];
  const errors = statuses.map((status) => [status, component('responses', `Error${status}`)]);
  return {
    ...(isFirst
      ? { operationId: operation, summary, ...(details && { description: details }) }
      : {
          operationId: operationId(route),
          summary: `${summary} (equivalent route)`,
          description: `Equivalent of \`${operation}\`, for existing clients.`,
          deprecated: true,
        }),
    tags: [entry.tag],
    ...(names.length > 0 && { parameters: names.map((name) => component('parameters', name)) }),
    // In each route, because some generators omit the content type of a request whose body is a
    // reference. A query without a body returns everything. All other bodies are required.
    ...(hasBody && {
      requestBody: {
        required: !isQuery,
        content: { 'application/json': { schema, example: example.request } },
      },
    }),
    security: securityOf(route),
    responses: {
      200: describeSuccess(entry, isFirst),
      ...(isFirst ? Object.fromEntries(errors) : { '4XX': component('responses', 'Error') }),
      default: component('responses', 'Error'),
    },
  };
}

function describeSuccess(entry: Entry, hasExample: boolean): Json {
  const { name, request, reply, example } = entry;
  const value = {
    status: 200,
    code: 'success',
    message: 'success',
    result: example.result,
    ...(name === issueAccessToken ? { expires: 3600 } : {}),
    timestamp: EXAMPLE_TIME,
  };
  const isPlainList = request === queryRequest && reply instanceof z.ZodArray;
  const schema = component('schemas', replyName(entry));
  return {
    description: 'The operation succeeded.',
    headers: headersNamed(
      ...['X-Request-Id', 'X-Timestamp', 'X-Sign', 'X-Sign-V2'],
      ...(isPlainList ? ['X-Total-Count', 'X-Total-Count-Exact'] : []),
    ),
    content: { 'application/json': { schema, ...(hasExample ? { example: value } : {}) } },
  };
}

/**
 * Stable: it does not depend on other routes. Generators join the words of an id, so `_` and `-`
 * become words. Otherwise `device/instance` and `device-instance` would get the same name.
 */
function operationId({ operation, method, path }: DescribedRoute): string {
  const place = path
    .slice(1)
    .replaceAll('_', 'underscore.')
    .replaceAll('-', '.dash.')
    .replaceAll('/', '.')
    .replaceAll(/[{}]/g, '');
  return `${operation}.${method.toLowerCase()}.${place}`;
}
