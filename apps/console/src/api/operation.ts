/**
 * The shape of an operation of the management API. The router, the OpenAPI document and the tests
 * derive from the list of them in operations.ts:
 *
 *   export const readClient = operation({
 *     name: 'clients.read', method: 'GET', path: '/clients/{clientId}', scope: 'operator:read',
 *     tag: 'Clients', summary: 'Read a client', reply: client,
 *     run: ({ operators, path }) => operators.clients.read(path.clientId),
 *   });
 *
 * A reply with a `version` gets an ETag, and one with `next` a Link. Acts of @gatehouse/operators
 * check query and body with the same schemas that the document describes.
 */
import { illegalArgument } from '@gatehouse/errors';
import type { OperatorScope } from '@gatehouse/identity';
import type { Condition, Operator, Operators } from '@gatehouse/operators';
import { readableIssue } from '@gatehouse/server/configuration';
import { z } from 'zod';

/** Below the address of the console. */
export const BASE_PATH = '/admin/v1';

type ParameterOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;

/** What an operation gets of a request. */
export interface Call<Parameter extends string = string, Query = unknown, Body = unknown> {
  readonly operators: Operators;
  /** Who acts, for the audit trail. */
  readonly operator: Operator;
  /** The decoded segments. */
  readonly path: Readonly<Record<Parameter, string>>;
  /** Each parameter is a text that nothing has checked. */
  readonly query: Query;
  /** JSON that nothing has checked: an object, unless the operation has `acceptsAnyJson`. */
  readonly body: Body;
  /** Of `If-Match`. */
  readonly condition: Condition;
}

interface Described<Path extends string, Query extends z.ZodObject, Body extends z.ZodType> {
  /** The operationId, and the name in log and metrics. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below BASE_PATH. `{name}` matches one segment. */
  readonly path: Path;
  readonly scope: OperatorScope;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly query?: Query;
  readonly body?: Body;
  readonly acceptsAnyJson?: true;
  /** Of the body. */
  readonly example?: z.input<Body>;
  readonly reply: z.ZodType;
  /** It creates something, accepts an Idempotency-Key, and replies with 201. */
  readonly isCreation?: true;
  /** It accepts If-Match. */
  readonly isConditional?: true;
}

interface Definition<Path extends string, Query extends z.ZodObject, Body extends z.ZodType>
  extends Described<Path, Query, Body> {
  /** The path of what was created, below BASE_PATH. */
  readonly location?: (result: never) => string;
  /** @throws OperatorError, StoreUnavailableError */
  readonly run: (call: Call<ParameterOf<Path>, z.input<Query>, z.input<Body>>) => Promise<unknown>;
}

/** Without the types of its query and its body. */
export interface Operation extends Described<string, z.ZodObject, z.ZodType> {
  readonly location?: (result: unknown) => string;
  readonly run: (call: Call) => Promise<unknown>;
}

export const operation = <
  const Path extends string,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
>(
  definition: Definition<Path, Query, Body>,
): Operation => definition as unknown as Operation;

/** @throws ApiError `illegal_argument` that names every invalid member */
export function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value, { error: readableIssue });
  if (parsed.success) {
    return parsed.data;
  }
  throw illegalArgument(
    parsed.error.issues.map(({ path, message }) => ({ property: path.join('.'), message })),
  );
}

export const pageOf = (item: z.ZodType) =>
  z.object({
    items: z.array(item),
    next: z.string().optional().describe('The cursor of the next page. Absent on the last one.'),
  });

export const seconds = z.number().describe('Epoch seconds.');

/** A secret, which no other reply contains. */
export const secret = (what: string) =>
  z.string().describe(`${what} Only this reply contains it, and its repetition for an hour.`);
