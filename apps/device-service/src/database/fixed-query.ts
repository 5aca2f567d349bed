import { createHash } from 'node:crypto';
import type { Compilable, CompiledQuery, DialectAdapter } from 'kysely';
import { directQueryOf } from './direct-queries.ts';
import {
  type OrganizationDatabase,
  organizationOf,
  scopeToOrganization,
} from './organization-scope.ts';

/** Stands for a value while a query is compiled. */
class Placeholder {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

const ORGANIZATION = new Placeholder('organization');

/** Stands for the value with this name. */
export type ValueOf<Values> = <Name extends string & keyof Values>(name: Name) => Values[Name];

export type FixedQuery<Values, Row> = (
  database: OrganizationDatabase,
  values: Values,
) => Promise<readonly Row[]>;

/** By text, because a compiled query has no place for the name. */
const names = new Map<string, string>();

/**
 * The name under which PostgreSQL keeps the plan of a fixed query, undefined for other texts.
 * Derived from the text, because a connection pooler may give a server connection to processes of
 * different versions.
 */
export function fixedQueryName(text: string): string | undefined {
  return names.get(text);
}

/**
 * Creates a query whose text is the same each time. It is built, limited to the organization and
 * compiled only once for each database, which costs more than running it.
 */
export function fixedQuery<Values extends object, Row>(
  build: (database: OrganizationDatabase, value: ValueOf<Values>) => Compilable<Row>,
): FixedQuery<Values, Row> {
  const compiled = new WeakMap<DialectAdapter, CompiledQuery<Row>>();

  function compile(database: OrganizationDatabase): CompiledQuery<Row> {
    const scoped = scopeToOrganization(
      database.withoutPlugins(),
      ORGANIZATION as unknown as string,
    );
    const value: ValueOf<Values> = (name) => new Placeholder(name) as Values[typeof name];
    const query = build(scoped, value).compile();
    names.set(query.sql, createHash('sha256').update(query.sql).digest('hex').slice(0, 32));
    return query;
  }

  return async (database, values) => {
    const { adapter } = database.getExecutor();
    let query = compiled.get(adapter);
    if (query === undefined) {
      query = compile(database);
      compiled.set(adapter, query);
    }
    const organization = organizationOf(database);
    const parameters = query.parameters.map((parameter) => {
      if (!(parameter instanceof Placeholder)) {
        return parameter;
      }
      return parameter === ORGANIZATION
        ? organization
        : values[parameter.name as string & keyof Values];
    });
    const bound = { ...query, parameters };
    const runDirectly = directQueryOf(database);
    return runDirectly === undefined
      ? (await database.executeQuery<Row>(bound)).rows
      : ((await runDirectly(bound)) as readonly Row[]);
  };
}
