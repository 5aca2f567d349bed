import {
  AliasNode,
  ColumnNode,
  type CompiledQuery,
  type DeleteQueryNode,
  IdentifierNode,
  type InsertQueryNode,
  type JoinNode,
  type KyselyPlugin,
  OnNode,
  type OperationNode,
  OperationNodeTransformer,
  PrimitiveValueListNode,
  type QueryId,
  SelectionNode,
  SelectQueryNode,
  sql,
  TableNode,
  type UpdateQueryNode,
  ValueListNode,
  ValueNode,
  ValuesNode,
  WhereNode,
} from 'kysely';
import type { DatabaseEngine, DeviceDatabase, OpenDatabase } from './tables.ts';

declare const scoped: unique symbol;

/** The database of one organization. It cannot read or write the rows of another. */
export interface OrganizationDatabase {
  readonly organizationId: string;
  readonly engine: DatabaseEngine;
  readonly tables: DeviceDatabase & { readonly [scoped]: true };
  /** Undefined in a transaction. */
  readonly run: ((query: ScopedQuery) => Promise<readonly unknown[]>) | undefined;
}

/** A compiled query of `tables`, so that it contains the organization. */
export type ScopedQuery<Row = unknown> = CompiledQuery<Row> & {
  readonly [scoped]: true;
  /** PostgreSQL keeps the plan of the query under this name (postgres-driver.ts). */
  readonly name: string;
};

const ORGANIZATION_COLUMN = 'org_id';

/**
 * Adds `org_id = <organization>` for every table that a query reads, changes or joins, and the
 * column to every inserted row. Rejects statements that it cannot scope. Without this, one
 * forgotten `where` would expose the devices of another organization.
 */
export function scopeToOrganization(
  { engine, tables, run }: Pick<OpenDatabase, 'engine' | 'tables'> & Partial<OpenDatabase>,
  organizationId: string,
): OrganizationDatabase {
  const transformer = new ScopeTransformer(organizationId);
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      if (!scopedStatements.has(node.kind)) {
        throw new Error(`A ${node.kind} cannot be scoped to an organization.`);
      }
      return transformer.transformNode(node, queryId);
    },
    transformResult: async ({ result }) => result,
  };
  const limited = tables.withPlugin(plugin) as OrganizationDatabase['tables'];
  return { organizationId, engine, tables: limited, run };
}

/** Not raw SQL and schema changes, whose tables are unknown here. */
const scopedStatements: ReadonlySet<string> = new Set([
  'SelectQueryNode',
  'InsertQueryNode',
  'UpdateQueryNode',
  'DeleteQueryNode',
]);

class ScopeTransformer extends OperationNodeTransformer {
  readonly #organizationId: string;

  constructor(organizationId: string) {
    super();
    this.#organizationId = organizationId;
  }

  override transformSelectQuery(node: SelectQueryNode, queryId?: QueryId): SelectQueryNode {
    const query = super.transformSelectQuery(node, queryId);
    return this.#withCondition(query, query.from?.froms ?? []);
  }

  override transformUpdateQuery(node: UpdateQueryNode, queryId?: QueryId): UpdateQueryNode {
    const query = super.transformUpdateQuery(node, queryId);
    assertPlain(query.from ?? query.joins);
    return this.#withCondition(query, query.table === undefined ? [] : [query.table]);
  }

  override transformDeleteQuery(node: DeleteQueryNode, queryId?: QueryId): DeleteQueryNode {
    const query = super.transformDeleteQuery(node, queryId);
    assertPlain(query.using ?? query.joins);
    return this.#withCondition(query, query.from.froms);
  }

  override transformInsertQuery(node: InsertQueryNode, queryId?: QueryId): InsertQueryNode {
    const query = super.transformInsertQuery(node, queryId);
    if (query.columns === undefined || query.values === undefined) {
      throw new Error('An insert without values cannot be scoped to an organization.');
    }
    const columns = [...query.columns, ColumnNode.create(ORGANIZATION_COLUMN)];
    return { ...query, columns, values: this.#withOrganization(query.values) };
  }

  /** Adds the value of the column to each row. A selection is already limited to its rows. */
  #withOrganization(source: OperationNode): OperationNode {
    const organization = ValueNode.create(this.#organizationId);
    if (SelectQueryNode.is(source)) {
      const named = AliasNode.create(organization, IdentifierNode.create(ORGANIZATION_COLUMN));
      return SelectQueryNode.cloneWithSelections(source, [SelectionNode.create(named)]);
    }
    if (!ValuesNode.is(source)) {
      throw new Error(`An insert from a ${source.kind} cannot be scoped to an organization.`);
    }
    const values = source.values.map((row) =>
      PrimitiveValueListNode.is(row)
        ? PrimitiveValueListNode.create([...row.values, this.#organizationId])
        : ValueListNode.create([...row.values, organization]),
    );
    return ValuesNode.create(values);
  }

  /** In the ON clause, because a condition in WHERE would turn a left join into an inner join. */
  override transformJoin(node: JoinNode, queryId?: QueryId): JoinNode {
    const join = super.transformJoin(node, queryId);
    const condition = this.#conditionOn(join.table);
    if (condition === undefined) {
      return join;
    }
    const on =
      join.on === undefined
        ? OnNode.create(condition)
        : OnNode.cloneWithOperation(join.on, 'And', condition);
    return { ...join, on };
  }

  #withCondition<Query extends { readonly where?: WhereNode }>(
    query: Query,
    tables: readonly OperationNode[],
  ): Query {
    let { where } = query;
    for (const table of tables) {
      const condition = this.#conditionOn(table);
      if (condition !== undefined) {
        where = where
          ? WhereNode.cloneWithOperation(where, 'And', condition)
          : WhereNode.create(condition);
      }
    }
    return where === undefined ? query : { ...query, where };
  }

  /** Undefined for a subquery, which has its own condition. */
  #conditionOn(source: OperationNode): OperationNode | undefined {
    const table = AliasNode.is(source) ? source.node : source;
    if (SelectQueryNode.is(table)) {
      return undefined;
    }
    if (!TableNode.is(table)) {
      throw new Error(`A ${table.kind} cannot be scoped to an organization.`);
    }
    const name = AliasNode.is(source) ? source.alias : table.table.identifier;
    if (!IdentifierNode.is(name)) {
      throw new Error('A computed alias cannot be scoped to an organization.');
    }
    const column = sql.ref(`${name.name}.${ORGANIZATION_COLUMN}`);
    return sql`${column} = ${this.#organizationId}`.toOperationNode();
  }
}

function assertPlain(furtherTables: unknown): void {
  if (furtherTables !== undefined) {
    throw new Error('A change that reads further tables cannot be scoped to an organization.');
  }
}
