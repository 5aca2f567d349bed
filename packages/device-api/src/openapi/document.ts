/**
 * The OpenAPI 3.1 document of the device API, generated from the entries of the operations.
 *
 *   entries (zod → JSON Schema) ─▶ routes ─▶ this file
 *                   errors, components ─┘
 *
 * The gateway serves it as /openapi.json. Tests validate replies with it.
 */
import { component, type Json, parameters, securitySchemes } from './components.ts';
import { type ErrorCatalogue, errorResponses, errorSchema } from './errors.ts';
import { type DescribedRoute, describeOperations, describeRoute } from './routes.ts';

export { type DescribedOperation, type DescribedRoute, issueAccessToken } from './routes.ts';

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: Json;
  readonly servers: readonly Json[];
  readonly tags: readonly Json[];
  /** By path and lower-case method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: Readonly<Record<string, Json>>;
}

/** A document that the gateway serves without a credential. */
export interface DescribedDocument {
  readonly operation: string;
  readonly path: string;
  readonly summary: string;
  /** The JSON Schema of the document. */
  readonly schema: Json;
}

export interface OpenApiSettings {
  /** The public URL of the gateway. */
  readonly publicUrl: string;
  readonly authorizationServerUrl: string;
  /** The served routes of the device API, the preferred route of each operation first. */
  readonly routes: readonly DescribedRoute[];
  readonly documents: readonly DescribedDocument[];
  /** All error codes of the platform API. */
  readonly errors: ErrorCatalogue;
}

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

export function createOpenApiDocument(settings: OpenApiSettings): OpenApiDocument {
  const { routes, documents, errors } = settings;
  const { operations, schemas } = describeOperations(
    new Set(routes.map(({ operation }) => operation)),
  );
  const paths: Record<string, Record<string, Json>> = {};
  const add = (path: string, method: string, operation: Json) => {
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  };
  const described = new Set<string>();
  for (const route of routes) {
    const isFirst = !described.has(route.operation);
    described.add(route.operation);
    add(route.path, route.method, describeRoute(route, isFirst, operations[route.operation]));
  }
  for (const document of documents) {
    add(document.path, 'GET', describeDocument(document));
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Device platform API',
      // Of the API. The version of the software would help an attacker.
      version: '1',
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: settings.publicUrl }],
    tags,
    paths,
    components: {
      securitySchemes: securitySchemes(settings.authorizationServerUrl),
      parameters,
      headers,
      responses: errorResponses(errors),
      schemas: { Error: errorSchema(errors), ...schemas },
    },
  };
}

function describeDocument({ operation, summary, schema }: DescribedDocument): Json {
  return {
    operationId: operation,
    tags: ['Gateway'],
    summary,
    security: [],
    responses: {
      200: {
        description: 'The document.',
        headers: { 'X-Request-Id': component('headers', 'X-Request-Id') },
        content: { 'application/json': { schema } },
      },
      429: component('responses', 'Error429'),
      default: component('responses', 'Error'),
    },
  };
}

function header(text: string, type: string): Json {
  return { description: text, schema: { type } };
}
