import {
  AliasNode,
  AndNode,
  BinaryOperationNode,
  ColumnNode,
  type DeleteQueryNode,
  type InsertQueryNode,
  type JoinNode,
  type KyselyPlugin,
  OnNode,
  type OperationNode,
  OperationNodeTransformer,
  OperatorNode,
  PrimitiveValueListNode,
  type QueryId,
  ReferenceNode,
  type SelectQueryNode,
  TableNode,
  type UpdateQueryNode,
  ValueListNode,
  ValueNode,
  ValuesNode,
  WhereNode,
} from 'kysely';
import type { DeviceDatabase } from '../tables/tables.ts';

declare const scoped: unique symbol;

/** One organisation's rows of every table: whoever holds this cannot read or write another's. */
export type OrganizationDatabase = DeviceDatabase & { readonly [scoped]: true };

const ORGANIZATION_COLUMN = 'org_id';

/**
 * The one place where queries are scoped. Every table that a query reads, changes or joins gets
 * `org_id = <organisation>`, every row it inserts gets the column, and what cannot be scoped is refused:
 * a forgotten `where` shows too little of the own organisation, never anything of another.
 */
export function scopeToOrganization(
  database: DeviceDatabase,
  organizationId: string,
): OrganizationDatabase {
  return database.withPlugin(new OrganizationScope(organizationId)) as OrganizationDatabase;
}

class OrganizationScope implements KyselyPlugin {
  readonly #transformer: ScopeTransformer;

  constructor(organizationId: string) {
    this.#transformer = new ScopeTransformer(organizationId);
  }

  transformQuery({ node, queryId }: Parameters<KyselyPlugin['transformQuery']>[0]) {
    if (!scopedStatements.has(node.kind)) {
      throw new Error(`A ${node.kind} cannot be scoped to an organisation.`);
    }
    return this.#transformer.transformNode(node, queryId);
  }

  async transformResult({ result }: Parameters<KyselyPlugin['transformResult']>[0]) {
    return result;
  }
}

/** Raw text and schema changes are not among them: what they touch cannot be seen here. */
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
    if (query.columns === undefined || query.values === undefined || !ValuesNode.is(query.values)) {
      throw new Error('An insert without plain values cannot be scoped to an organisation.');
    }
    const values = query.values.values.map((row) =>
      PrimitiveValueListNode.is(row)
        ? PrimitiveValueListNode.create([...row.values, this.#organizationId])
        : ValueListNode.create([...row.values, ValueNode.create(this.#organizationId)]),
    );
    const columns = [...query.columns, ColumnNode.create(ORGANIZATION_COLUMN)];
    return { ...query, columns, values: ValuesNode.create(values) };
  }

  /** In the ON clause, so that a left join stays one. */
  override transformJoin(node: JoinNode, queryId?: QueryId): JoinNode {
    const join = super.transformJoin(node, queryId);
    const [condition] = this.#conditionsOn([join.table]);
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
    const [first, ...rest] = this.#conditionsOn(tables);
    if (first === undefined) {
      return query;
    }
    const condition = rest.reduce((both, next) => AndNode.create(both, next), first);
    const where =
      query.where === undefined
        ? WhereNode.create(condition)
        : WhereNode.cloneWithOperation(query.where, 'And', condition);
    return { ...query, where };
  }

  #conditionsOn(tables: readonly OperationNode[]): readonly OperationNode[] {
    return tables.flatMap((source) => {
      const inner = AliasNode.is(source) ? source.node : source;
      if (inner.kind === 'SelectQueryNode') {
        return [];
      }
      if (!TableNode.is(inner)) {
        throw new Error(`A ${inner.kind} cannot be scoped to an organisation.`);
      }
      const column = ReferenceNode.create(
        ColumnNode.create(ORGANIZATION_COLUMN),
        TableNode.create(nameOf(source, inner)),
      );
      return [
        BinaryOperationNode.create(
          column,
          OperatorNode.create('='),
          ValueNode.create(this.#organizationId),
        ),
      ];
    });
  }
}

function nameOf(source: OperationNode, table: TableNode): string {
  if (!AliasNode.is(source)) {
    return table.table.identifier.name;
  }
  if (source.alias.kind !== 'IdentifierNode' || !('name' in source.alias)) {
    throw new Error('A computed alias cannot be scoped to an organisation.');
  }
  return String(source.alias.name);
}

function assertPlain(furtherTables: unknown): void {
  if (furtherTables !== undefined) {
    throw new Error('A change that reads further tables cannot be scoped to an organisation.');
  }
}
