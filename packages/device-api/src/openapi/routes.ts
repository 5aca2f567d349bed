import { z } from 'zod';
import { EXAMPLE_TIME } from '../members.ts';
import type { Operation } from '../operation.ts';
import { queryRequest } from '../queries.ts';
import { type OperationName, operations } from '../routes.ts';
import { component, type Json, queryParameterNames, securityOf } from './components.ts';
import { commonErrorStatuses, errorResponseName } from './errors.ts';

/** The operation that the gateway implements itself (operation 4 of the specification). */
export const issueAccessToken = 'access-token.issue';

/** The operations that the document describes. */
export type DescribedOperation = OperationName | typeof issueAccessToken;

type Entry = Omit<Operation<DescribedOperation>, 'scope' | 'paths' | 'tag'> & {
  readonly tag: Operation['tag'] | 'Tokens';
};

/** `POST /api/v1/token`: the gateway reads the body, so this schema only describes it. */
const accessToken: Entry = {
  name: issueAccessToken,
  methods: ['POST'],
  request: z.strictObject({
    expires: z
      .int()
      .optional()
      .describe('Lifetime in seconds. 0 or less means the maximum. Default: 7200.'),
  }),
  reply: z.string().describe('The token. Send it in the header `X-Access-Token`.'),
  tag: 'Tokens',
  summary: 'Issue an X-Access-Token',
  description: 'Accepts only signed requests.',
  example: { request: { expires: 3600 }, result: 'l9Zc0wq3bT7yN4uXkP2sVg' },
};

export const entries: readonly Entry[] = [...operations, accessToken];

/** What all routes of an operation have in common. */
export interface OperationDescription extends Entry {
  /** Its members are also the query parameters of a GET. */
  readonly isQuery: boolean;
  /** The reply has texts for people, which `Accept-Language` selects. */
  readonly hasTexts: boolean;
  readonly requestBody: Json | undefined;
  readonly success: (hasExample: boolean) => Json;
}

/** Describes all operations. The components contain the replies of the given ones. */
export function describeOperations(served: ReadonlySet<DescribedOperation>) {
  const requests = convert('input', ({ request }) => request);
  const replies = convert('output', ({ reply }) => reply);
  const described = entries.map((entry): [DescribedOperation, OperationDescription] => [
    entry.name,
    {
      ...entry,
      isQuery: entry.request === queryRequest,
      hasTexts: JSON.stringify(entry.example).includes('"text"'),
      requestBody: requestBody(entry, requests.byName[entry.name]),
      success: (hasExample) => successResponse(entry, hasExample),
    },
  ]);
  const envelopes = entries
    .filter(({ name }) => served.has(name))
    .map(({ name }) => [replyName(name), envelope(name, replies.byName[name])]);
  return {
    operations: Object.fromEntries(described) as Record<DescribedOperation, OperationDescription>,
    schemas: { ...requests.components, ...replies.components, ...Object.fromEntries(envelopes) },
  };
}

/** A schema with an id becomes a component. The others are inline. */
function convert(io: 'input' | 'output', schemaOf: (entry: Entry) => z.ZodType | undefined) {
  const used = entries.flatMap((entry) => {
    const schema = schemaOf(entry);
    return schema === undefined ? [] : [[entry.name, schema] as const];
  });
  const converted = z.toJSONSchema(z.object(Object.fromEntries(used)), {
    io,
    // The schemas that only a function can check have the rest of their description as metadata.
    unrepresentable: 'any',
    override: ({ jsonSchema }) => simplify(jsonSchema as Record<string, unknown>),
  });
  const { properties, $defs } = JSON.parse(
    JSON.stringify(converted).replaceAll('"#/$defs/', '"#/components/schemas/'),
  ) as { readonly properties: Record<string, Json>; readonly $defs: Record<string, Json> };
  return { byName: properties, components: $defs };
}

/**
 * Removes what only describes TypeScript, and joins nested alternatives. Epoch milliseconds need more
 * than 32 bits.
 */
function simplify(schema: Record<string, unknown>): void {
  if (Array.isArray(schema.anyOf)) {
    schema.anyOf = schema.anyOf.flatMap((option: Json) =>
      Object.keys(option).join() === 'anyOf' ? option.anyOf : [option],
    );
  }
  delete schema.id;
  delete schema.readOnly;
  if (schema.type === 'integer') {
    schema.format = 'int64';
    if (schema.minimum === Number.MIN_SAFE_INTEGER) {
      delete schema.minimum;
    }
    if (schema.maximum === Number.MAX_SAFE_INTEGER) {
      delete schema.maximum;
    }
  }
}

/**
 * In each route of the operation, because some generators omit the content type of a request whose
 * body is a reference. A query without a body returns everything. All other bodies are required.
 */
function requestBody({ request, methods, example }: Entry, schema: Json | undefined) {
  return request === undefined || methods.every((method) => method === 'GET')
    ? undefined
    : {
        required: request !== queryRequest,
        content: { 'application/json': { schema, example: example.request } },
      };
}

/** `device.create-batch` → `DeviceCreateBatchReply` */
function replyName(name: DescribedOperation): string {
  return `${name.replaceAll(/(?:^|[.-])(\w)/g, (_all, first: string) => first.toUpperCase())}Reply`;
}

function envelope(name: DescribedOperation, result: Json | undefined): Json {
  const properties = {
    status: { const: 200 },
    code: { const: 'success' },
    message: { const: 'success' },
    ...(result === undefined ? {} : { result }),
    ...(name === issueAccessToken ? { expires: integer('Lifetime in seconds.') } : {}),
    timestamp: integer('Epoch milliseconds.'),
  };
  const required = Object.keys(properties);
  return { type: 'object', required, properties, additionalProperties: false };
}

function integer(description: string): Json {
  return { type: 'integer', format: 'int64', description };
}

function successResponse({ name, request, reply, example }: Entry, hasExample: boolean): Json {
  const value = {
    status: 200,
    code: 'success',
    message: 'success',
    ...(example.result === undefined ? {} : { result: example.result }),
    ...(name === issueAccessToken ? { expires: 3600 } : {}),
    timestamp: EXAMPLE_TIME,
  };
  const isPlainList = request === queryRequest && reply instanceof z.ZodArray;
  const headers = [
    ...['X-Request-Id', 'X-Timestamp', 'X-Sign', 'X-Sign-V2'],
    ...(isPlainList ? ['X-Total-Count', 'X-Total-Count-Exact'] : []),
  ];
  const schema = component('schemas', replyName(name));
  return {
    description: 'The operation succeeded.',
    headers: Object.fromEntries(headers.map((header) => [header, component('headers', header)])),
    content: { 'application/json': { schema, ...(hasExample ? { example: value } : {}) } },
  };
}

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

/**
 * An equivalent route omits the example of its reply and the errors of each status, because they
 * would make the document much larger.
 *
 * @param isFirst whether it is the first route of its operation
 */
export function describeRoute(
  route: DescribedRoute,
  isFirst: boolean,
  operation: OperationDescription,
): Json {
  const { tag, summary, description, requestBody, success } = operation;
  const identity = isFirst
    ? {
        operationId: operation.name,
        summary,
        ...(description === undefined ? {} : { description }),
      }
    : {
        operationId: operationId(route),
        summary: `${summary} (equivalent route)`,
        description: `Equivalent of \`${operation.name}\`, for existing clients.`,
        deprecated: true,
      };
  const hasBody = requestBody !== undefined && route.method !== 'GET';
  const parameters = parametersOf(route, operation);
  const errors = errorStatuses(route, hasBody).map((status) => [
    status,
    component('responses', errorResponseName(status)),
  ]);
  return {
    ...identity,
    tags: [tag],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(hasBody ? { requestBody } : {}),
    security: securityOf(route),
    responses: {
      200: success(isFirst),
      ...(isFirst ? Object.fromEntries(errors) : { '4XX': component('responses', 'Error') }),
      default: component('responses', 'Error'),
    },
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

function parametersOf(
  { method, path }: DescribedRoute,
  { isQuery, hasTexts, parameters = [] }: OperationDescription,
): readonly Json[] {
  return [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name),
    ...(isQuery && method === 'GET' ? queryParameterNames : []),
    ...parameters,
    ...(hasTexts ? ['Accept-Language'] : []),
  ].map((name) => component('parameters', name));
}

function errorStatuses({ operation, path }: DescribedRoute, hasBody: boolean): readonly number[] {
  return [
    ...commonErrorStatuses,
    ...(path.includes('{') ? [404] : []),
    ...(hasBody ? [413, 415] : []),
    ...(operation === issueAccessToken ? [] : [502, 504]),
  ].sort((one, other) => one - other);
}
