/**
 * The shape of an operation of the management API. The router, the OpenAPI document and the tests
 * derive from the list of them in document.ts:
 *
 *   operation('clients.read', 'GET /clients/{clientId}', {
 *     summary: 'Read a client',
 *     reply: client,
 *     run: ({ operators, path }) => operators.clients.read(path.clientId),
 *   });
 *
 * A GET needs `operator:read`, every other method `operator:write`. A POST creates something, accepts
 * an Idempotency-Key, and replies with 201. PUT, PATCH and DELETE accept If-Match. A reply with a
 * `version` gets an ETag, and one with `next` a Link. Acts of @gatehouse/operators check query and
 * body with the same schemas that the document describes.
 */
import type { OperatorScope } from '@gatehouse/identity';
import type { Condition, Operator, Operators } from '@gatehouse/operators';
import { z } from 'zod';

/** Below the address of the console. */
export const BASE_PATH = '/admin/v1';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type ParameterOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;

interface Definition<Parameter extends string, Query extends z.ZodObject, Body extends z.ZodType> {
  readonly summary: string;
  readonly description?: string;
  readonly query?: Query;
  readonly body?: Body;
  readonly acceptsAnyJson?: true;
  /** Of the body. */
  readonly example?: z.input<Body>;
  readonly reply: z.ZodType;
  /** A POST that only reads, because its input does not belong into an address. */
  readonly isRead?: true;
  /** It accepts neither an Idempotency-Key nor If-Match. */
  readonly isPlain?: true;
  /** A POST that accepts If-Match, too. */
  readonly isConditional?: true;
  /** The path of what was created, below BASE_PATH. */
  readonly location?: (result: never) => string;
  /** @throws OperatorError, StoreUnavailableError */
  readonly run: (call: {
    readonly operators: Operators;
    /** Who acts, for the audit trail. */
    readonly operator: Operator;
    /** The decoded segments. */
    readonly path: Readonly<Record<Parameter, string>>;
    /** Each parameter is a text that nothing has checked. */
    readonly query: z.input<Query>;
    /** JSON that nothing has checked: an object, unless the operation has `acceptsAnyJson`. */
    readonly body: z.input<Body>;
    /** Of `If-Match`. */
    readonly condition: Condition;
  }) => Promise<unknown>;
}

export type Operation = ReturnType<typeof operation>;

/**
 * @param name the operationId, and the name in log and metrics
 * @param route the path is below BASE_PATH, and `{name}` matches one segment
 */
export function operation<
  const Path extends string,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
>(
  name: string,
  route: `${Method} ${Path}`,
  definition: Definition<ParameterOf<Path>, Query, Body>,
) {
  const [method, path] = route.split(' ') as [Method, string];
  const { isRead = method === 'GET', isPlain = isRead } = definition;
  const scope: OperatorScope = isRead ? 'operator:read' : 'operator:write';
  return {
    ...{ name, method, path, scope },
    isCreation: method === 'POST' && !isPlain,
    isConditional: method !== 'POST' && !isPlain,
    // The frame does not know the types of its path, its query and its body.
    ...(definition as unknown as Definition<string, z.ZodObject, z.ZodType>),
  };
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
