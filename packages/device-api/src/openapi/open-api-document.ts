/**
 * The OpenAPI 3.1 document of the device API, generated from the schemas of the operations.
 *
 *   schema-components (zod → JSON Schema) ─▶ describe-operations ─▶ describe-route ─▶ this file
 *     operation-texts, operation-examples ─┘      security-schemes, parameters, error-responses ─┘
 *
 * The gateway serves it as /openapi.json. Tests validate replies with it.
 */
import { accessTokenOperation } from './access-token-operation.ts';
import type { Json } from './component.ts';
import { replySchemas } from './describe-operations.ts';
import { type DescribedDocument, describePublicDocument } from './describe-public-document.ts';
import { describeRoute } from './describe-route.ts';
import type { DescribedRoute } from './described-route.ts';
import { type ErrorCatalogue, errorResponses, errorSchema } from './error-responses.ts';
import { tags } from './operation-texts.ts';
import { parameters } from './parameters.ts';
import { createOperationSchemas } from './schema-components.ts';
import { securitySchemes } from './security-schemes.ts';

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: Json;
  readonly servers: readonly Json[];
  readonly tags: readonly Json[];
  /** By path and lower-case method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: Readonly<Record<string, Json>>;
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

export function createOpenApiDocument(settings: OpenApiSettings): OpenApiDocument {
  const { routes, documents, errors } = settings;
  const schemas = createOperationSchemas(accessTokenOperation);
  const names = new Set(routes.map(({ operation }) => operation));
  const paths: Record<string, Record<string, Json>> = {};
  const described = new Set<string>();
  const add = (path: string, method: string, operation: Json) => {
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  };
  for (const route of routes) {
    const isFirst = !described.has(route.operation);
    described.add(route.operation);
    add(route.path, route.method, describeRoute(route, isFirst, schemas));
  }
  for (const document of documents) {
    add(document.path, 'GET', describePublicDocument(document));
  }
  return {
    openapi: '3.1.1',
    // The version of the API. The version of the software would help an attacker.
    info: { title: 'Device platform API', version: '1', description, license },
    servers: [{ url: settings.publicUrl }],
    tags,
    paths,
    components: {
      securitySchemes: securitySchemes(settings.authorizationServerUrl),
      parameters,
      headers,
      responses: errorResponses(errors),
      schemas: {
        Error: errorSchema(errors),
        ...schemas.components,
        ...replySchemas(names, schemas),
      },
    },
  };
}

const license = { name: 'Apache-2.0', identifier: 'Apache-2.0' };

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

function header(text: string, type: string): Json {
  return { description: text, schema: { type } };
}
