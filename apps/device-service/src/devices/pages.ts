import { deviceTypeLabels, type Language, stateLabels } from '@gatehouse/device-api';
import { sql } from 'kysely';
import type { OrganizationDatabase } from '../database/organization-database.ts';
import { prepared } from '../database/queries.ts';
import type { DatabaseEngine } from '../database/tables.ts';

import { type Condition, comparisonsOf } from '../query/condition.ts';
import {
  compileCondition,
  countQuery,
  countUpToLimit,
  orderOf,
  type Page,
  readPage,
  type Window,
} from '../query/pages.ts';
import { column, type Query, querySubject } from '../query/query.ts';
import { summaryColumns } from './rows.ts';

/** What a query of devices can name. */
export const deviceSubject = querySubject(
  {
    id: column('text', 'devices.id'),
    name: column('text', 'devices.name'),
    orgId: column('text', 'devices.org_id'),
    productId: column('text', 'devices.product_id'),
    productName: column('text', 'products.name'),
    protocol: column('text', sql`coalesce(devices.protocol, products.protocol)`),
    transport: column('text', sql`coalesce(devices.transport, products.transport)`),
    deviceType: column('enum', 'products.device_type', deviceTypeLabels),
    state: column('enum', 'devices.state', stateLabels),
    address: column('text', 'devices.address'),
    onlineTime: column('integer', 'devices.online_time'),
    offlineTime: column('integer', 'devices.offline_time'),
    createTime: column('integer', 'devices.create_time'),
    registerTime: column('integer', 'devices.register_time'),
    registryTime: column('integer', 'devices.register_time'),
  },
  // Indexes cover id, name, createTime, state, productId, and state with productId.
  { newestBy: 'createTime', tieBreak: 'opposite' },
);

/** A query on one of these columns has to join the products before it selects the page. */
const ofProducts: ReadonlySet<string> = new Set([
  'productName',
  'protocol',
  'transport',
  'deviceType',
]);

/**
 * Devices as JSON texts, newest first, then by id, unless the query has sorts. A page past the end
 * is empty.
 */
export function readDevices(
  database: OrganizationDatabase,
  query: Query,
  language: Language,
): Promise<Page<string>> {
  const { condition, sorts, fields } = query;
  const isPlain = condition === undefined && sorts.length === 0 && fields === undefined;
  return readPage(query, {
    rows: async (window) => {
      const rows = isPlain
        ? await plainRows[language](database, window)
        : await selectPage(database, query, window, language).execute();
      const texts = rows.map(({ printed }) => printed);
      return database.engine === 'postgres' ? texts.map(printer(language, fields)) : texts;
    },
    count: async () => {
      const maintained = await readCounters(database, condition);
      return maintained === undefined
        ? countUpToLimit(database, selectDevices(database, condition))
        : { total: maintained, isExact: true };
    },
  });
}

/** Exact. With another condition than on product and state, it reads every device that it counts. */
export async function countDevices(
  database: OrganizationDatabase,
  condition: Condition | undefined,
): Promise<number> {
  const maintained = await readCounters(database, condition);
  if (maintained !== undefined) {
    return maintained;
  }
  const all = countQuery(database, selectDevices(database, condition), Number.MAX_SAFE_INTEGER);
  return (await all.executeTakeFirstOrThrow()).total;
}

const plain = { condition: undefined, sorts: [], fields: undefined };
const plainRows = {
  en: prepared((database, window: Window) => selectPage(database, plain, window, 'en')),
  zh: prepared((database, window: Window) => selectPage(database, plain, window, 'zh')),
};

/** Selects the page before it joins the products, so that skipped rows cost no join. */
function selectPage(
  database: OrganizationDatabase,
  { condition, sorts, fields }: Pick<Query, 'condition' | 'sorts' | 'fields'>,
  { limit, offset }: Window,
  language: Language,
) {
  const order = orderOf(sorts, deviceSubject);
  const page = selectDevices(database, condition, sorts)
    // The outer query sorts by org_id too, so the page needs it.
    .select([...summaryColumns, 'devices.org_id', 'devices.protocol', 'devices.transport'])
    .orderBy(order)
    .limit(limit)
    .offset(offset);
  return database.tables
    .selectFrom(page.as('devices'))
    .innerJoin('products', 'products.id', 'devices.product_id')
    .select(summaryOf(database.engine, language, fields))
    .orderBy(order);
}

const members = Object.entries(deviceSubject.columns).map(([name, column], index) => {
  const { kind, sql: value, labels: texts } = column;
  const quote = kind === 'text' ? '"' : '';
  const printed = (language: Language) => {
    const cases = Object.entries(texts ?? {}).map(
      ([each, text]) => sql`when ${sql.lit(each)} then ${sql.lit(text[language])}`,
    );
    return texts === undefined
      ? sql`${sql.lit(name)}, ${value}`
      : sql`${sql.lit(name)}, json_object(
          'text', case ${value} ${sql.join(cases, sql` `)} end, 'value', ${value})`;
  };
  return {
    ...{ name, index, value, texts, before: `"${name}":${quote}`, after: quote },
    /** For `json_object` of SQLite. */
    pair: { en: printed('en'), zh: printed('zh') },
  };
});

/** The members of a device in a list. */
const membersOf = (fields: Query['fields']) =>
  fields === undefined ? members : members.filter(({ name }) => fields.has(name));

/** No value contains it, because the API accepts no control characters. */
const SEPARATOR = '\u001f';

/**
 * A device as one text, because the drivers take longer to read each value. SQLite prints JSON.
 * PostgreSQL takes longer for this than `printer`, so it joins the values (bench/device-service).
 */
function summaryOf(engine: DatabaseEngine, language: Language, fields: Query['fields']) {
  if (engine === 'postgres') {
    const values = sql.join(members.map(({ value }) => value));
    return sql<string>`concat_ws(${sql.lit(SEPARATOR)}, ${values})`.as('printed');
  }
  const printed = membersOf(fields).map(({ pair }) => pair[language]);
  return sql<string>`json_object(${sql.join(printed)})`.as('printed');
}

/** Prints values that PostgreSQL has joined. With objects, this would take a third longer. */
function printer(language: Language, fields: Query['fields']): (joined: string) => string {
  const shown = membersOf(fields);
  return (joined) => {
    const escaped = /["\\]/.test(joined) ? joined.replace(/["\\]/g, '\\$&') : joined;
    const values = escaped.split(SEPARATOR);
    if (values.length !== members.length) {
      throw new Error('A value of a device contains the separator.');
    }
    const printed = shown.map(({ index, texts, before, after }) => {
      const value = values[index] as string;
      const text = texts?.[value]?.[language];
      const json = text === undefined ? value : `{"text":"${text}","value":"${value}"}`;
      return before + json + after;
    });
    return `{${printed.join(',')}}`;
  };
}

function selectDevices(
  { tables, engine }: OrganizationDatabase,
  condition: Condition | undefined,
  sorts: Query['sorts'] = [],
) {
  const named = condition === undefined ? sorts : [...comparisonsOf(condition), ...sorts];
  const devices = tables.selectFrom('devices');
  const source = named.some(({ column }) => ofProducts.has(column))
    ? (devices.innerJoin(
        'products',
        'products.id',
        'devices.product_id',
      ) as unknown as typeof devices)
    : devices;
  return source.where(compileCondition(condition, deviceSubject.columns, engine));
}

const ALL_PRODUCTS = '';

const allCounters = prepared(({ tables }, _values: object) =>
  tables.selectFrom('device_counts').select('device_count').where('product_id', '=', ALL_PRODUCTS),
);

/**
 * The count that triggers maintain, at a cost that does not depend on the number of devices.
 * Undefined if the condition has other columns, so that the devices have to be counted.
 */
async function readCounters(
  database: OrganizationDatabase,
  condition: Condition | undefined,
): Promise<number | undefined> {
  let rows: readonly { readonly device_count: number }[];
  if (condition === undefined) {
    rows = await allCounters(database, {});
  } else {
    const values = valuesByColumn(condition);
    if (values === undefined) {
      return undefined;
    }
    const { productId = [ALL_PRODUCTS], state } = values;
    rows = await database.tables
      .selectFrom('device_counts')
      .select('device_count')
      .where('product_id', 'in', productId)
      .$if(state !== undefined, (query) => query.where('state', 'in', state ?? []))
      .execute();
  }
  return rows.reduce((sum, row) => sum + row.device_count, 0);
}

/** Undefined unless the condition is `productId` or `state`, or both, as one value or a list. */
function valuesByColumn(condition: Condition) {
  const comparisons = comparisonsOf(condition);
  const isConjunction =
    condition.kind === 'comparison' ||
    (condition.kind === 'all' && condition.of.every(({ kind }) => kind === 'comparison'));
  const values: { productId?: readonly string[]; state?: readonly string[] } = {};
  for (const { column, operator, values: wanted } of comparisons) {
    const isMaintained = column === 'productId' || column === 'state';
    if (!isConjunction || !isMaintained || values[column] || !/^(eq|in)$/.test(operator)) {
      return undefined;
    }
    values[column] = [...new Set(wanted.map(String))];
  }
  return values;
}
