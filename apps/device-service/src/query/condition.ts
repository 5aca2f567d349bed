import type { termTypes } from '@gatehouse/device-api';
import { type ApiError, illegalArgument } from '@gatehouse/errors';
import type { z } from 'zod';
import { toIllegalArgument } from '../input.ts';

export type Operator = (typeof termTypes)[number];

export interface Comparison {
  readonly kind: 'comparison';
  readonly column: string;
  readonly operator: Operator;
  readonly values: readonly (string | number)[];
}

export interface Group {
  readonly kind: 'all' | 'any';
  readonly of: readonly Condition[];
}

/** The syntax tree of a filter, whatever its form was. */
export type Condition = Comparison | Group;

/** A condition, and how it connects to the previous one. */
export interface Link {
  readonly connector: 'and' | 'or';
  readonly condition: Condition;
}

export const MAXIMUM_CONDITION_DEPTH = 8;
const MAXIMUM_COMPARISONS = 100;
const MAXIMUM_VALUES = 2000;

/**
 * `a and b or c` is `(a and b) or c`, as in SQL. The connector of the first condition is ignored.
 */
export function combine(links: readonly Link[]): Condition | undefined {
  const alternatives: Condition[][] = [];
  for (const { connector, condition } of links) {
    const last = alternatives.at(-1);
    if (last === undefined || connector === 'or') {
      alternatives.push([condition]);
    } else {
      last.push(condition);
    }
  }
  return group(
    'any',
    alternatives.flatMap((conditions) => group('all', conditions) ?? []),
  );
}

export function group(kind: Group['kind'], of: readonly Condition[]): Condition | undefined {
  return of.length > 1 ? { kind, of } : of[0];
}

/** @throws ApiError `illegal_argument` for too many terms or values */
export function assertBounded(condition: Condition, property: string): void {
  const comparisons = comparisonsOf(condition);
  const values = comparisons.flatMap((comparison) => comparison.values);
  if (comparisons.length > MAXIMUM_COMPARISONS) {
    throw queryError(property, `has more than ${MAXIMUM_COMPARISONS} terms`);
  }
  if (values.length > MAXIMUM_VALUES) {
    throw queryError(property, `has more than ${MAXIMUM_VALUES} values`);
  }
}

export function comparisonsOf(condition: Condition): readonly Comparison[] {
  return condition.kind === 'comparison' ? [condition] : condition.of.flatMap(comparisonsOf);
}

/** Limits the size of a reply that reports problems. */
const MAXIMUM_REPORTED_PROBLEMS = 10;

/**
 * Checks a part of a query. `path` is its place, such as `terms[0].terms`.
 *
 * @throws ApiError `illegal_argument`
 */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  path = '',
): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const issues = parsed.error.issues.slice(0, MAXIMUM_REPORTED_PROBLEMS);
    throw illegalArgument(
      issues.map((issue) => toIllegalArgument(issue, path)),
      'illegal_argument',
    );
  }
  return parsed.data;
}

export function queryError(property: string, message: string): ApiError {
  return illegalArgument([{ property, message }]);
}
