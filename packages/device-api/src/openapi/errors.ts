import { component, type Json } from './components.ts';

/** Each error code with its HTTP status and its message. */
export type ErrorCatalogue = Readonly<
  Record<string, { readonly status: number; readonly message: string }>
>;

const EXAMPLE_TIME = 1_795_167_634_189;

/** The statuses that every operation can return. The other ones depend on the operation. */
export const commonErrorStatuses: readonly number[] = [400, 401, 403, 408, 429, 431, 500, 503];

export function errorResponseName(status: number): string {
  return `Error${status}`;
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

/** One response for each status of the catalog, and one for any error. */
export function errorResponses(catalogue: ErrorCatalogue): Json {
  const byStatus = Map.groupBy(Object.entries(catalogue), ([, { status }]) => status);
  // Only a method that is not described gets 405.
  byStatus.delete(405);
  return {
    ...Object.fromEntries(
      [...byStatus].map(([status, errors]) => [
        errorResponseName(status),
        errorResponse(status, Object.fromEntries(errors)),
      ]),
    ),
    Error: {
      description: 'Any other error of the catalog.',
      headers: { 'X-Request-Id': component('headers', 'X-Request-Id') },
      content: { 'application/json': { schema: component('schemas', 'Error') } },
    },
  };
}

function errorResponse(status: number, errors: ErrorCatalogue): Json {
  const codes = Object.keys(errors);
  const described = Object.entries(errors).map(([code, { message }]) => `\`${code}\`: ${message}`);
  const schema = {
    allOf: [component('schemas', 'Error')],
    properties: { status: { const: status }, code: { enum: codes } },
  };
  const examples = Object.fromEntries(
    Object.entries(errors).map(([code, { message }]) => [
      code,
      { value: example(code, status, message) },
    ]),
  );
  return {
    description: described.join('\n\n'),
    headers: Object.fromEntries(
      headersOf(status).map((name) => [name, component('headers', name)]),
    ),
    content: { 'application/json': { schema, examples } },
  };
}

function headersOf(status: number): readonly string[] {
  return [
    'X-Request-Id',
    ...(status === 401 || status === 403 ? ['WWW-Authenticate'] : []),
    ...(status === 429 || status === 503 ? ['Retry-After'] : []),
  ];
}

function example(code: string, status: number, message: string): Json {
  const envelope = { status, code, message, timestamp: EXAMPLE_TIME };
  if (code !== 'illegal_argument') {
    return envelope;
  }
  const problem = { property: 'pageSize', message: 'must be an integer, 1 or more' };
  return { ...envelope, message: `${problem.property}: ${problem.message}`, result: [problem] };
}
