/** What all acts of operators share: who acts, why an act fails, versions, pages and the audit trail. */
import { hash } from 'node:crypto';
import { ApiError, type IllegalArgument } from '@gatehouse/errors';
import {
  type AuditEvent,
  type AuditOrigin,
  type Identity,
  type PageQuery,
  RejectedChangeError,
} from '@gatehouse/identity';
import { readableIssue } from '@gatehouse/server/configuration';
import { z } from 'zod';

/**
 * Who acts, as the audit trail stores it: the actor is `cli` or `console`, the operator the account
 * of the machine, or the id of a user or client. `isMachine`, which is not stored, means a client
 * without a user.
 */
export type Operator = AuditOrigin & { readonly isMachine?: boolean };

/** What the acts need. */
export interface Dependencies {
  readonly identity: Identity;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Records what an operator did. Every act calls it, with what was before and after. */
  readonly record: (operator: Operator, ...events: readonly AuditEvent[]) => Promise<void>;
}

/** Why an act changed nothing. The message states what was found, and how to fix it. */
export class OperatorError extends ApiError {
  /** Of `illegal_argument`: the invalid members. Never contains their values. */
  readonly problems: readonly IllegalArgument[];

  constructor(
    code: 'illegal_argument' | 'not_found' | 'duplicate_key' | 'conflict' | 'precondition_failed',
    message?: string,
    problems?: readonly IllegalArgument[],
  ) {
    super(code, { ...(message === undefined ? {} : { message }), result: problems });
    this.name = 'OperatorError';
    this.problems = problems ?? [];
  }
}

/** A machine that makes an operator, or decides how one signs in, could enroll a factor for itself. */
export const forbiddenToMachines = (): ApiError =>
  new ApiError('access_denied', {
    message:
      'A machine cannot add or change operators, or decide how they sign in. Use the console, the command line, or the token of an operator.',
    reason: 'role_missing',
  });

/** Why one member of the input is invalid. */
export const invalidInput = (property: string, message: string): OperatorError =>
  invalidMembers([{ property, message }]);

export function invalidMembers(problems: readonly IllegalArgument[]): OperatorError {
  const listed = problems.map(({ property, message }) => `${property || 'value'}: ${message}`);
  return new OperatorError('illegal_argument', `${listed.join('. ')}.`, problems);
}

export function createDependencies(identity: Identity, now: () => number = Date.now): Dependencies {
  return {
    identity,
    now,
    async record({ isMachine: _, ...origin }, ...events) {
      try {
        for (const event of events) {
          await identity.audit.write(event, origin);
        }
      } catch (cause) {
        // The operator has to know about it.
        const message = 'The change was made, but the audit trail could not record it.';
        const headers = { 'Retry-After': '1' };
        throw new ApiError('service_unavailable', { message, cause, headers });
      }
    },
  };
}

type Acts = Readonly<Record<string, (...words: never[]) => unknown>>;

/** The acts, which throw OperatorError where the registries throw RejectedChangeError. */
export function withOperatorErrors<Subject extends Acts>(acts: Subject): Subject {
  const translated = Object.entries(acts).map(([name, act]) => [
    name,
    async (...words: never[]) => {
      try {
        return await act(...words);
      } catch (error) {
        throw error instanceof RejectedChangeError
          ? new OperatorError('conflict', error.message)
          : error;
      }
    },
  ]);
  return Object.fromEntries(translated);
}

/** @throws OperatorError that names every invalid member, without the values */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(value, { error: readableIssue });
  if (parsed.success) {
    return parsed.data;
  }
  throw invalidMembers(
    parsed.error.issues.map(({ path, message }) => ({
      property: path.map(String).join('.'),
      message,
    })),
  );
}

/** The members of a schema as a change names them: all optional, and null removes one. */
export function changeOf<Shape extends z.ZodRawShape>(shape: Shape) {
  const members = Object.entries(shape).map(([name, type]) => {
    const isRemovable = type instanceof z.ZodOptional;
    const plain = isRemovable || type instanceof z.ZodDefault ? type.unwrap() : type;
    const changed = plain as z.ZodType;
    return [name, (isRemovable ? changed.nullable() : changed).optional()];
  });
  return z.strictObject(
    Object.fromEntries(members) as { [Name in keyof Shape]: Changed<Shape[Name]> },
  );
}

type Changed<Type> =
  Type extends z.ZodOptional<infer Inner extends z.ZodType>
    ? z.ZodOptional<z.ZodNullable<Inner>>
    : Type extends z.ZodDefault<infer Inner extends z.ZodType>
      ? z.ZodOptional<Inner>
      : Type extends z.ZodType
        ? z.ZodOptional<Type>
        : never;

/** The members of a schema as a representation has them: without defaults. */
export function viewOf<Shape extends z.ZodRawShape>(shape: Shape): Shape {
  const members = Object.entries(shape).map(([name, type]) => [
    name,
    type instanceof z.ZodDefault ? type.unwrap() : type,
  ]);
  return Object.fromEntries(members) as Shape;
}

/** `record` after a change: null removes a member, and undefined keeps it. */
export function withChange<Stored extends object>(record: Stored, change: object): Stored {
  const members = Object.entries(change)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, value ?? undefined]);
  return { ...record, ...Object.fromEntries(members) };
}

/** The members of a record's member after a change of some: null removes one. */
export function withMembers(stored: object = {}, change: object = {}): object {
  const changed = Object.entries(withChange(stored, change));
  return Object.fromEntries(changed.filter(([, value]) => value !== undefined));
}

/** Changes with every change of a representation. */
export const version = z.string().meta({ description: 'Changes with the resource.' });

export function withVersion<View extends object>(view: View): View & { readonly version: string } {
  const digest = hash('sha256', JSON.stringify(view, withSortedMembers), 'base64url');
  return { ...view, version: digest.slice(0, 22) };
}

function withSortedMembers(_name: string, value: unknown): unknown {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isRecord ? Object.fromEntries(Object.entries(value).sort()) : value;
}

export interface Condition {
  /** The version that the operator saw. Undefined: any. */
  readonly ifVersion?: string | undefined;
}

/** @throws OperatorError if the record has another version */
export function assertVersion(view: { readonly version: string }, { ifVersion }: Condition): void {
  if (ifVersion !== undefined && ifVersion !== view.version) {
    throw new OperatorError('precondition_failed');
  }
}

const LIMITS = 'must be a whole number from 1 to 1000';

export const pageRequest = z.strictObject({
  /** `next` of the page before. */
  cursor: z.string().max(2000).optional(),
  limit: z.coerce.number(LIMITS).int(LIMITS).min(1, LIMITS).max(1000, LIMITS).default(50),
});

/** Also as a text, which a URL has. */
export const flag = z.union([
  z.boolean(),
  z.enum(['true', 'false']).transform((value) => value === 'true'),
]);

/** The filters of lists of clients and users. */
export const memberFilter = pageRequest.extend({
  /** An id, a username, an address or a word of a name begins with it. */
  search: z.string().max(200).optional(),
  orgId: z.string().max(128).optional(),
  disabled: flag.optional(),
});

export interface Page<Item> {
  /** Can be fewer than the limit, and even none, although more follow. */
  readonly items: readonly Item[];
  /** The cursor of the next page. Undefined: nothing follows. */
  readonly next?: string | undefined;
}

/** An opaque cursor of a place. */
export const toCursor = (place: unknown): string =>
  Buffer.from(JSON.stringify(place)).toString('base64url');

/** @throws OperatorError if a cursor is not one of this list */
export function readCursor<Place>(
  schema: z.ZodType<Place>,
  cursor: string | undefined,
): Place | undefined {
  if (cursor === undefined) {
    return undefined;
  }
  try {
    return schema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch {
    throw invalidInput('cursor', 'is not a cursor of this list');
  }
}

/**
 * A page of clients or users.
 *
 * @param place the schema of where a page begins
 */
export async function listMembers<Stored extends { readonly enabled: boolean }, Place, View>(
  filter: z.input<typeof memberFilter>,
  place: z.ZodType<Place>,
  read: (
    query: Omit<PageQuery<Stored>, 'after'> & { readonly after: Place | undefined },
  ) => Promise<{ readonly items: readonly Stored[]; readonly next?: Place | undefined }>,
  viewOfEach: (record: Stored) => Promise<View>,
): Promise<Page<View>> {
  const { cursor, disabled, ...query } = parseInput(memberFilter, filter);
  const matches = ({ enabled }: Stored) => disabled !== true || !enabled;
  const { items, next } = await read({ ...query, matches, after: readCursor(place, cursor) });
  return { items: await Promise.all(items.map(viewOfEach)), next: next && toCursor(next) };
}

/** The time of the last entry in a page, and how many entries of that time were in it. */
const logPlace = z.tuple([z.number(), z.number()]);

/**
 * A page of a log, newest first.
 *
 * @param read entries until a time, at most so many
 */
export async function readLogPage<Entry>(
  { cursor, limit }: z.output<typeof pageRequest>,
  timeOf: (entry: Entry) => number,
  read: (until: number | undefined, limit: number) => Promise<readonly Entry[]>,
): Promise<Page<Entry>> {
  const [until, known] = readCursor(logPlace, cursor) ?? [undefined, 0];
  const found = (await read(until, known + limit + 1)).slice(known);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  if (last === undefined || found.length <= limit) {
    return { items };
  }
  const time = timeOf(last);
  const ofTime = items.filter((entry) => timeOf(entry) === time).length;
  return { items, next: toCursor([time, ofTime + (time === until ? known : 0)]) };
}

/** @throws OperatorError if there is no value */
export function orNotFound<Value>(value: Value | undefined, message: string): Value {
  if (value === undefined) {
    throw new OperatorError('not_found', message);
  }
  return value;
}

/** @throws OperatorError if it does not exist */
export async function assertOrganizationExists(
  orgId: string,
  { organizations }: Identity,
): Promise<void> {
  if ((await organizations.find(orgId)) === undefined) {
    throw new OperatorError('conflict', `The organization ${orgId} does not exist. Add it first.`);
  }
}
