import type { z } from 'zod';
import { queryRequest } from '../list-schemas.ts';
import type { OperationMethod } from '../operation.ts';
import { operations } from '../routes.ts';
import { accessTokenMembers, accessTokenOperation } from './access-token-operation.ts';
import { component, type Json } from './component.ts';
import { type DescribedOperation, issueAccessToken } from './described-route.ts';
import { operationExamples } from './operation-examples.ts';
import type { OperationSchemas } from './schema-components.ts';

/** The parts of an operation that all its routes share, as components with its name. */
export interface OperationComponents {
  readonly requestBodies: Readonly<Record<string, Json>>;
  readonly responses: Readonly<Record<string, Json>>;
}

interface Content {
  readonly name: DescribedOperation;
  readonly request?: z.ZodType | undefined;
  readonly reply?: z.ZodType | undefined;
  readonly methods: readonly OperationMethod[];
}

const EXAMPLE_TIME = 1_795_168_479_665;

const contents: readonly Content[] = [
  ...operations,
  { ...accessTokenOperation, name: issueAccessToken, methods: ['POST'] },
];

const queries: ReadonlySet<DescribedOperation> = new Set(
  operations.filter(({ request }) => request === queryRequest).map(({ name }) => name),
);

export function describeOperations(
  names: ReadonlySet<DescribedOperation>,
  schemas: OperationSchemas,
): OperationComponents {
  const described = contents.filter(({ name }) => names.has(name));
  return {
    requestBodies: Object.fromEntries(
      described.flatMap((content) => {
        const body = requestBody(content, schemas);
        return body === undefined ? [] : [[content.name, body]];
      }),
    ),
    responses: Object.fromEntries(
      described.map((content) => [content.name, successResponse(content, schemas)]),
    ),
  };
}

/** A query without a body returns everything. All other bodies are required. */
function requestBody(
  { name, request, methods }: Content,
  schemas: OperationSchemas,
): Json | undefined {
  if (request === undefined || methods.every((method) => method === 'GET')) {
    return undefined;
  }
  const example = operationExamples[name].request;
  return {
    required: !isQuery(name),
    content: { 'application/json': { schema: schemas.requestOf(request), example } },
  };
}

export function isQuery(name: DescribedOperation): boolean {
  return queries.has(name);
}

function successResponse({ name, reply }: Content, schemas: OperationSchemas): Json {
  const { result } = operationExamples[name];
  const isToken = name === issueAccessToken;
  const hasCount = name === 'device.list' || name === 'log.list';
  const members = {
    status: { const: 200 },
    code: { const: 'success' },
    message: { const: 'success' },
    ...(reply === undefined ? {} : { result: schemas.replyOf(reply) }),
    ...(isToken ? accessTokenMembers : {}),
    timestamp: { type: 'integer', format: 'int64', description: 'Epoch milliseconds.' },
  };
  const example = {
    status: 200,
    code: 'success',
    message: 'success',
    ...(result === undefined ? {} : { result }),
    ...(isToken ? { expires: 3600 } : {}),
    timestamp: EXAMPLE_TIME,
  };
  const schema = {
    type: 'object',
    required: Object.keys(members),
    properties: members,
    additionalProperties: false,
  };
  const headers = [
    'X-Request-Id',
    'X-Timestamp',
    'X-Sign',
    'X-Sign-V2',
    ...(hasCount ? ['X-Total-Count', 'X-Total-Count-Exact'] : []),
  ];
  return {
    description: 'The operation succeeded.',
    headers: Object.fromEntries(headers.map((header) => [header, component('headers', header)])),
    content: { 'application/json': { schema, example } },
  };
}
