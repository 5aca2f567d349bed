import type { z } from 'zod';
import { queryRequest } from '../list-schemas.ts';
import type { OperationMethod } from '../operation.ts';
import { operations } from '../routes.ts';
import { accessTokenMembers, accessTokenOperation } from './access-token-operation.ts';
import { component, type Json } from './component.ts';
import { type DescribedOperation, issueAccessToken } from './described-route.ts';
import { operationExamples } from './operation-examples.ts';
import type { OperationSchemas } from './schema-components.ts';

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

/**
 * The body and the successful reply, which each route of an operation contains: some generators omit
 * the content type of a request whose body is a reference.
 *
 * @param hasExample whether the reply has an example
 */
export function describeOperation(
  name: DescribedOperation,
  schemas: OperationSchemas,
  hasExample: boolean,
) {
  const content = contents.find((each) => each.name === name) ?? { name, methods: [] };
  return {
    requestBody: requestBody(content, schemas),
    success: successResponse(content, hasExample),
  };
}

/** The schemas of the successful replies, as components. */
export function replySchemas(
  names: ReadonlySet<DescribedOperation>,
  schemas: OperationSchemas,
): Readonly<Record<string, Json>> {
  return Object.fromEntries(
    contents
      .filter(({ name }) => names.has(name))
      .map((content) => [replyName(content.name), replySchema(content, schemas)]),
  );
}

/** `device.create-batch` → `DeviceCreateBatchReply` */
function replyName(name: DescribedOperation): string {
  return `${name.replaceAll(/(?:^|[.-])(\w)/g, (_all, first: string) => first.toUpperCase())}Reply`;
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

function replySchema({ name, reply }: Content, schemas: OperationSchemas): Json {
  const properties = {
    status: { const: 200 },
    code: { const: 'success' },
    message: { const: 'success' },
    ...(reply === undefined ? {} : { result: schemas.replyOf(reply) }),
    ...(name === issueAccessToken ? accessTokenMembers : {}),
    timestamp: { type: 'integer', format: 'int64', description: 'Epoch milliseconds.' },
  };
  const required = Object.keys(properties);
  return { type: 'object', required, properties, additionalProperties: false };
}

function successResponse({ name }: Content, hasExample: boolean): Json {
  const { result } = operationExamples[name];
  const hasCount = name === 'device.list' || name === 'log.list';
  const example = {
    status: 200,
    code: 'success',
    message: 'success',
    ...(result === undefined ? {} : { result }),
    ...(name === issueAccessToken ? { expires: 3600 } : {}),
    timestamp: EXAMPLE_TIME,
  };
  const schema = component('schemas', replyName(name));
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
    content: { 'application/json': { schema, ...(hasExample ? { example } : {}) } },
  };
}
