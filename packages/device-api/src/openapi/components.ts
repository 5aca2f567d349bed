import { deviceIdPattern } from '../device-schemas.ts';
import { EXAMPLE_TIME } from '../members.ts';
import type { deviceScopes } from '../operation.ts';
import { queryRequest } from '../queries.ts';
import type { DescribedRoute } from './document.ts';
import { component, type ErrorCatalogue, errorResponses, type Json, oauthFlows } from './parts.ts';

const text = { type: 'string' };
const count = { type: 'integer', format: 'int64', minimum: 0 };

/** A GET has no body, so its query is in parameters. */
const queryParameters = {
  pageIndex: count,
  pageSize: { ...count, minimum: 1 },
  firstPageIndex: count,
  total: count,
  where: text,
  orderBy: text,
  includes: text,
  excludes: text,
};

export const queryParameterNames: readonly string[] = Object.keys(queryParameters);

/** All parameters as components, by name. */
export const parameters: Json = {
  deviceId: inPath('deviceId', 'The id of a device.', deviceIdPattern.source),
  productId: inPath('productId', 'The id of a product.'),
  tagId: inPath('tagId', 'The id or the key of a tag.'),
  allOrNothing: {
    name: 'allOrNothing',
    in: 'query',
    description:
      'Whether one invalid device rejects the whole request. A signed request of version 1 has no query. It uses the member of the body.',
    schema: { type: 'boolean' },
  },
  'Accept-Language': {
    name: 'Accept-Language',
    in: 'header',
    description: 'The language of each `text`: English or Chinese (`zh`).',
    schema: text,
  },
  ...Object.fromEntries(
    Object.entries(queryParameters).map(([name, schema]) => {
      const { description } = queryRequest.shape[name as keyof typeof queryParameters];
      return [name, { name, in: 'query', description, schema }];
    }),
  ),
};

function inPath(name: string, description: string, pattern?: string): Json {
  const schema = pattern === undefined ? text : { ...text, pattern };
  return { name, in: 'path', required: true, description, schema };
}

const scopes: Readonly<Record<(typeof deviceScopes)[number], string>> = {
  'device:read': 'Read devices, tags and products.',
  'device:write': 'Create, change, deploy and delete devices, tags and products.',
  'device:log': 'Read log records.',
  'device:report': 'Report log records.',
};

/** A signature consists of several headers. Each header is one scheme. */
export function securitySchemes(authorizationServerUrl: string): Json {
  return {
    accessToken: {
      type: 'oauth2',
      description:
        'An OAuth 2.0 access token. Use it for users, and for machines that can store a token.',
      flows: oauthFlows(authorizationServerUrl, scopes),
    },
    xAccessToken: header(
      'X-Access-Token',
      'A token from `POST /api/v1/token`, with all device scopes of the client.',
    ),
    clientId: header('X-Client-Id', 'The client id. Part of a signature of either version.'),
    timestamp: header(
      'X-Timestamp',
      'The current time in epoch milliseconds. Part of a signature of either version.',
    ),
    nonce: header(
      'X-Nonce',
      '16 to 64 characters of `A-Za-z0-9_-`, new for every request. Part of signature version 2.',
    ),
    signatureVersion2: header(
      'X-Sign-V2',
      'The lower-case hex of an HMAC-SHA-256 with the secure key of the client. It signs these lines, joined by line feeds: `GATEHOUSE-V2`, the method, the path, the query, the content type, the hex of the SHA-256 of the body, `X-Client-Id`, `X-Timestamp` and `X-Nonce`. The reply is signed, too.',
    ),
    signatureVersion1: header(
      'X-Sign',
      'For existing clients. The hex of the SHA-256 or MD5 of the signed text, `X-Timestamp` and the secure key, without separators. The signed text is the body of a POST or PATCH. Otherwise it is the decoded parameters of the query, sorted by key and joined as `key=value&key=value`. The reply is signed, too.',
    ),
  };
}

/** The alternatives that authenticate a request to the route, the preferred one first. */
export function securityOf({ credentials, scope }: DescribedRoute): readonly Json[] {
  const accepts = new Set(credentials);
  return [
    ...(accepts.has('bearer') ? [{ accessToken: scope === undefined ? [] : [scope] }] : []),
    ...(accepts.has('access-token') ? [{ xAccessToken: [] }] : []),
    ...(accepts.has('signature')
      ? [
          { clientId: [], timestamp: [], nonce: [], signatureVersion2: [] },
          { clientId: [], timestamp: [], signatureVersion1: [] },
        ]
      : []),
  ];
}

function header(name: string, description: string): Json {
  return { type: 'apiKey', in: 'header', name, description };
}

/** The envelope of every error. */
export function errorSchema(catalogue: ErrorCatalogue): Json {
  const codes = Object.entries(catalogue).map(([code, { status }]) => `\`${code}\` ${status}`);
  return {
    type: 'object',
    description: 'The reply to a request that failed. Compare `code`, never `message`.',
    required: ['status', 'code', 'message', 'timestamp'],
    properties: {
      status: { type: 'integer', description: 'The HTTP status.' },
      code: {
        type: 'string',
        enum: Object.keys(catalogue),
        description: `With its status: ${codes.join(', ')}.`,
      },
      message: { type: 'string', description: 'For people. The text may change.' },
      timestamp: { type: 'integer', format: 'int64', description: 'Epoch milliseconds.' },
      result: {
        description: 'Details: the invalid parts of the request, or the cause and how to fix it.',
        anyOf: [
          { type: 'array', items: component('schemas', 'Problem') },
          { type: 'object', additionalProperties: true },
        ],
      },
    },
    additionalProperties: false,
  };
}

/** Only a method that is not described gets 405. The others belong to the management API. */
const otherStatuses: readonly number[] = [405, 409, 412, 422];

export function describeErrors(catalogue: ErrorCatalogue): Json {
  const described = Object.entries(catalogue).filter(
    ([, { status }]) => !otherStatuses.includes(status),
  );
  const anyError = component('schemas', 'Error');
  return errorResponses(Object.fromEntries(described), (status, errors) => {
    if (errors === undefined) {
      return { 'application/json': { schema: anyError } };
    }
    const schema = {
      allOf: [anyError],
      properties: { status: { const: status }, code: { enum: [...errors.keys()] } },
    };
    const examples = [...errors].map(([code, message]) => {
      const problem = { property: 'pageSize', message: 'must be an integer, 1 or more' };
      const details = code === 'illegal_argument' ? { result: [problem] } : {};
      return [code, { value: { status, code, message, timestamp: EXAMPLE_TIME, ...details } }];
    });
    return { 'application/json': { schema, examples: Object.fromEntries(examples) } };
  });
}
