import { deviceIdPattern } from '../device-schemas.ts';
import { deviceScopes } from '../operation.ts';
import type { DescribedRoute } from './routes.ts';

/** An object of the document. */
export type Json = Readonly<Record<string, unknown>>;

export function component(kind: string, name: string): { readonly $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}

/** A GET has no body, so its query is in parameters. */
const query: readonly Json[] = [
  integer('pageIndex', 'Number of the page. Default: the first one.', 0),
  integer('pageSize', 'Default: 25. More than 1000 means 1000.', 1),
  integer('firstPageIndex', 'Number of the first page. Default: 0.', 0),
  integer('total', 'The total of an earlier page. Gatehouse then does not count again.', 0),
  text(
    'where',
    'The filter: `state = online and name like %pump%`. `terms[0].column`, `terms[0].termType` and `terms[0].value` are also accepted.',
  ),
  text('orderBy', 'The order: `state desc,name`. Default: the newest first.'),
  text('includes', 'Columns to return: `id,name`. Default: all.'),
  text('excludes', 'Columns to omit: `id,name`.'),
];

const others: readonly Json[] = [
  inPath('deviceId', 'The id of a device.', { type: 'string', pattern: deviceIdPattern.source }),
  inPath('productId', 'The id of a product.', { type: 'string' }),
  inPath('tagId', 'The id or the key of a tag.', { type: 'string' }),
  {
    name: 'allOrNothing',
    in: 'query',
    description:
      'Whether one invalid device rejects the whole request. A signed request of version 1 has no query. It uses the member of the body.',
    schema: { type: 'boolean' },
  },
  {
    name: 'Accept-Language',
    in: 'header',
    description: 'The language of each `text`: English or Chinese (`zh`).',
    schema: { type: 'string' },
  },
];

export const queryParameterNames: readonly string[] = query.map(({ name }) => String(name));

/** All parameters as components, by name. */
export const parameters: Json = Object.fromEntries(
  [...others, ...query].map((parameter) => [parameter.name, parameter]),
);

function inPath(name: string, description: string, schema: Json): Json {
  return { name, in: 'path', required: true, description, schema };
}

function integer(name: string, description: string, minimum: number): Json {
  const schema = { type: 'integer', format: 'int64', minimum };
  return { name, in: 'query', description, schema };
}

function text(name: string, description: string): Json {
  return { name, in: 'query', description, schema: { type: 'string' } };
}

const scopeTexts: Readonly<Record<(typeof deviceScopes)[number], string>> = {
  'device:read': 'Read devices, tags and products.',
  'device:write': 'Create, change, deploy and delete devices, tags and products.',
  'device:log': 'Read log records.',
  'device:report': 'Report log records.',
};

/** A signature consists of several headers. Each header is one scheme. */
export function securitySchemes(authorizationServerUrl: string): Json {
  const scopes = Object.fromEntries(deviceScopes.map((scope) => [scope, scopeTexts[scope]]));
  const tokenUrl = `${authorizationServerUrl}/token`;
  const authorizationUrl = `${authorizationServerUrl}/authorize`;
  return {
    accessToken: {
      type: 'oauth2',
      description:
        'An OAuth 2.0 access token. Use it for users, and for machines that can store a token.',
      flows: {
        clientCredentials: { tokenUrl, scopes },
        authorizationCode: { authorizationUrl, tokenUrl, refreshUrl: tokenUrl, scopes },
      },
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
