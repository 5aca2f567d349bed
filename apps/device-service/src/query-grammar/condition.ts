import { illegalArgument } from '@gatehouse/api-envelope';

export type Operator =
  | 'eq'
  | 'not'
  | 'gt'
  | 'gte'
  | 'lt'
  | 'lte'
  | 'like'
  | 'nlike'
  | 'in'
  | 'nin'
  | 'btw'
  | 'nbtw'
  | 'empty'
  | 'nempty'
  | 'isnull'
  | 'notnull';

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

/** The syntax tree that every form of a filter becomes. */
export type Condition = Comparison | Group;

/** A condition and how it is tied to the one before it. */
export interface Link {
  readonly connector: 'and' | 'or';
  readonly condition: Condition;
}

export const MAX_CONDITION_DEPTH = 8;
const MAX_COMPARISONS = 100;
const MAX_VALUES = 2000;

/** `a and b or c` is `(a and b) or c`, as in SQL. The connector of the first one means nothing. */
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

/** @throws ApiError `illegal_argument` for more than a database should be asked at once */
export function assertBounded(condition: Condition, property: string): void {
  const comparisons = comparisonsOf(condition);
  const values = comparisons.reduce((sum, comparison) => sum + comparison.values.length, 0);
  if (comparisons.length > MAX_COMPARISONS) {
    throw illegalArgument([{ property, message: `has more than ${MAX_COMPARISONS} terms` }]);
  }
  if (values > MAX_VALUES) {
    throw illegalArgument([{ property, message: `has more than ${MAX_VALUES} values` }]);
  }
}

export function comparisonsOf(condition: Condition): readonly Comparison[] {
  return condition.kind === 'comparison' ? [condition] : condition.of.flatMap(comparisonsOf);
}
