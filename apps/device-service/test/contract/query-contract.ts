import { isNightly } from '@gatehouse/testing';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { deviceSubject } from '../../src/devices/pages.ts';
import { logSubject } from '../../src/logs/sql.ts';
import { productSubject } from '../../src/products.ts';
import type { QueryColumn } from '../../src/query/query.ts';
import type { BootedApp } from '../booted-app.ts';
import { camera, createDeviceClient } from '../device-client.ts';

/** A value for each kind of column. */
const values = { text: 'a', integer: 1, enum: '' } as const;

/** Every clause of a query that can name the column. */
function clausesOf(name: string, column: QueryColumn): readonly object[] {
  const value = column.labels ? Object.keys(column.labels)[0] : values[column.kind];
  const list = [value, value];
  const operators = {
    ...{ eq: value, is: value, not: value, neq: value, in: list, nin: list },
    ...{ empty: undefined, nempty: undefined, notempty: undefined },
    ...{ isnull: undefined, notnull: undefined },
    ...(column.kind === 'enum' ? {} : { gt: value, gte: value, lt: value, lte: value }),
    ...(column.kind === 'enum' ? {} : { btw: list, nbtw: list }),
    ...(column.kind === 'text' ? { like: '%a_', nlike: '%a_' } : {}),
  };
  return [
    { sorts: [{ name }] },
    { sorts: [{ name, order: 'desc' }, { name: 'id' }] },
    { orderBy: `${name} desc` },
    { orderBy: name, where: `${name} = ${value}` },
    { orderBy: name, paging: false },
    { includes: [name] },
    { excludes: [name] },
    ...Object.entries(operators).flatMap(([termType, wanted]) => [
      { terms: [{ column: name, termType, value: wanted }] },
      { terms: [{ column: `${name}$${termType}`, value: wanted }], sorts: [{ name }] },
    ]),
  ];
}

/** The same clause as parameters: `sorts[0].name=id`. */
function parametersOf(clause: object, prefix = ''): readonly (readonly [string, string])[] {
  return Object.entries(clause).flatMap(([key, value]) => {
    if (value === undefined) {
      return [];
    }
    const name = prefix + key;
    return Array.isArray(value) && typeof value[0] === 'object'
      ? value.flatMap((item, index) => parametersOf(item, `${name}[${index}].`))
      : [[name, String(value)] as const];
  });
}

export function queryContract(app: BootedApp): void {
  const client = createDeviceClient(app, 'org-query');
  const idsOf = (devices: readonly { readonly id: string }[]) => devices.map(({ id }) => id);
  const ids = async (body: object) =>
    idsOf((await client.query({ pageSize: 100, orderBy: 'id', ...body })).result.data);

  describe('a query', () => {
    test.each([
      ['devices', deviceSubject, '/device/instance/_query', '/api/device'],
      ['counts', deviceSubject, '/device/instance/_count', '/device/instance/_count'],
      ['products', productSubject, '/device/product/_query', '/device/product/_query'],
      ['a log', logSubject, '/device/instance/walked/log/_query', undefined],
    ])('of %s accepts every column in every clause', async (what, subject, path, get) => {
      const walker = createDeviceClient(app, 'org-walk');
      await walker.create({ id: 'walked', ...camera });
      await walker.report('walked', { type: 'event', content: 'a' });
      const rejected: unknown[] = [];
      const call = async (method: string, target: string, clause: object, body?: object) => {
        const reply = await walker.call(method, target, body);
        rejected.push(...(reply.status === 200 ? [] : [{ clause, reply }]));
      };
      const kinds = new Set<string>();
      for (const [index, [name, column]] of Object.entries(subject.columns).entries()) {
        // Parameters, and the SQL of a count, depend on the kind of a column only.
        const isNewKind = !kinds.has(column.kind);
        kinds.add(column.kind);
        if (what === 'counts' && !isNewKind) {
          continue;
        }
        for (const [number, clause] of clausesOf(name, column).entries()) {
          // By day, only the first column of each kind gets all clauses, and that only as JSON.
          const isChosen = isNightly || number % 10 === index % 10;
          if (isNewKind || isChosen) {
            await call('POST', path, clause, clause);
          }
          if (isNewKind && isChosen) {
            const query = new URLSearchParams(Object.fromEntries(parametersOf(clause)));
            // Only JSON has `paging`.
            query.delete('paging');
            await call('GET', `${get ?? path}?${query}`, clause);
          }
        }
      }
      expect(rejected).toEqual([]);
    });
  });

  describe('a device query', () => {
    beforeAll(async () => {
      const products = [
        { productId: 'lamps', productName: 'Lamps' },
        { productId: 'locks', productName: 'Locks' },
      ];
      const names = ['Alpha', 'alpha', 'Beta_1', 'Beta%2', 'Gamma*[x]?', 'ключ', "O'Neil"];
      for (const [i, name] of names.entries()) {
        await client.create({ id: `q${i}`, name, ...products[i % 2] });
      }
      for (const id of ['q0', 'q1', 'q2']) {
        await client.call('POST', `/device/instance/${id}/_deploy`);
      }
      await client.report('q0', { type: 'online' });
      await client.create({ id: 'q-foreign', ...camera, name: 'Alpha' }, 'org-query-2');
    });

    test.each([
      ['state = online', ['q0']],
      ['state=offline', ['q1', 'q2']],
      ['state is offline', ['q1', 'q2']],
      ['state != notActive', ['q0', 'q1', 'q2']],
      ['state in offline,online', ['q0', 'q1', 'q2']],
      ["state nin ('offline', 'online') and productId = lamps", ['q4', 'q6']],
      ['name = Alpha', ['q0']],
      ['name like %lpha', ['q0', 'q1']],
      ['name like Alph%', ['q0']],
      ['name like alph%', ['q1']],
      ['name like Beta\\_%', ['q2']],
      ['name like Beta_%', ['q2', 'q3']],
      ['name like %\\%2', ['q3']],
      ['name like %*[x]?', ['q4']],
      ['name like кл%', ['q5']],
      ['name nlike %a%', ['q5', 'q6']],
      ["name = 'O''Neil'", ['q6']],
      ['name = "O\'Neil"', ['q6']],
      ["name in ('Alpha', 'ключ')", ['q0', 'q5']],
      ['onlineTime empty', ['q1', 'q2', 'q3', 'q4', 'q5', 'q6']],
      ['onlineTime nempty', ['q0']],
      ['onlineTime > 0', ['q0']],
      ['createTime btw 0,1', []],
      ['createTime nbtw (0, 1) and id <= q1', ['q0', 'q1']],
      ['id >= q5', ['q5', 'q6']],
      ['name isnull', []],
      ['productName = Locks and name notempty', ['q1', 'q3', 'q5']],
      ['protocol empty and id = q0', ['q0']],
      ['id = q0 or id = q1 and state = notActive', ['q0']],
      ['(id = q0 or id = q1) and state = offline', ['q1']],
      ['name like %abc% and (state = online or state is offline)', []],
      ['orgId = org-query-2', []],
      ['orgId != org-query and id = q-foreign or id = q-foreign', []],
      ["name = '' or 1=1", 400],
      ["name = 'x'; drop table devices", 400],
    ] as const)('where %s', async (where, expected) => {
      if (expected === 400) {
        expect((await client.query({ where })).status).toBe(400);
      } else {
        expect(await ids({ where })).toEqual(expected);
      }
    });

    test.each([
      [[{ column: 'state', value: { text: 'x', value: 'online' } }], ['q0']],
      [[{ column: 'id', termType: 'in', value: ['q1', 'q2'] }], ['q1', 'q2']],
      [[{ column: 'id$in', value: 'q1,q2' }], ['q1', 'q2']],
      [[{ column: 'createTime$btw', value: [0, 1] }], []],
      [
        [
          { column: 'productId', value: 'lamps' },
          {
            terms: [
              { column: 'state', value: 'online' },
              { column: 'id', value: 'q6', type: 'or' },
            ],
          },
        ],
        ['q0', 'q6'],
      ],
      [
        [
          {
            column: 'id',
            value: 'q3',
            terms: [{ column: 'state', value: 'online', type: 'or' }],
          },
        ],
        ['q0', 'q3'],
      ],
      [
        [
          { column: 'id', value: 'q5' },
          { column: 'id', value: 'q4', type: 'or' },
          { column: 'state', value: 'online' },
        ],
        ['q5'],
      ],
    ])('terms %j', async (terms, expected) => {
      expect(await ids({ terms })).toEqual(expected);
    });

    test('has a GET form for both list operations, with the same result', async () => {
      const parameters =
        '?terms[0].column=productId&terms[0].value=lamps&terms[1].column=state' +
        '&terms[1].termType=not&terms[1].value=notActive&sorts[0].name=id&sorts[0].order=desc';
      const array = await client.list(parameters);
      const page = await client.call('GET', `/device/instance/_query${parameters}`);
      const count = await client.call('GET', `/device/instance/_count${parameters}`);

      expect(idsOf(array.result)).toEqual(['q2', 'q0']);
      expect(page.result).toMatchObject({ pageIndex: 0, pageSize: 25, total: 2 });
      expect(page.result.data).toEqual(array.result);
      expect(count.result).toBe(2);
    });

    test('sorts text by byte on every engine', async () => {
      const { data } = (await client.query({ sorts: [{ name: 'name', order: 'desc' }] })).result;
      const names = data.map(({ name }) => name);
      expect(names).toEqual(['ключ', 'alpha', "O'Neil", 'Gamma*[x]?', 'Beta_1', 'Beta%2', 'Alpha']);
    });

    test('counts pages from firstPageIndex, uses a known total, and returns selected fields', async () => {
      const paging = { firstPageIndex: 1, pageSize: 2, orderBy: 'id' };
      const first = await client.query({ ...paging, pageIndex: 1, includes: ['id', 'name'] });
      const known = { pageIndex: 2, total: 7, excludes: ['name'] };
      const second = await client.query({ ...paging, ...known });

      expect(first.result).toEqual({
        pageIndex: 1,
        pageSize: 2,
        total: 7,
        data: [
          { id: 'q0', name: 'Alpha' },
          { id: 'q1', name: 'alpha' },
        ],
      });
      expect(second.result).toMatchObject({ pageIndex: 2, total: 7 });
      expect(idsOf(second.result.data)).toEqual(['q2', 'q3']);
      expect(second.result.data[0]).not.toHaveProperty('name');
    });

    test('does not report a known total as exact if its count may have stopped there', async () => {
      const ask = async (total: number) => (await client.query({ pageSize: 2, total })).result;
      expect(await ask(10_000)).toMatchObject({ total: 10_000, totalIsExact: false });
      expect(await ask(9_999)).not.toHaveProperty('totalIsExact');
    });

    test.each(['includes', 'excludes'])(
      'takes %s without a name for all fields',
      async (fields) => {
        const all = await client.list('?orderBy=id&pageSize=1');
        const reply = await client.list(`?orderBy=id&pageSize=1&${fields}=`);
        expect(reply.result).toEqual(all.result);
      },
    );

    test('returns all records with paging false, and rejects a result that is too large', async () => {
      const all = await client.query({ paging: false, pageSize: 1 });
      expect(all.result).toMatchObject({ pageIndex: 0, total: 7 });
      expect(all.result.data).toHaveLength(7);

      const many = Array.from({ length: 1001 }, (_, i) => ({ id: `m-${i}`, ...camera }));
      await client.createAll(many, 'org-many');
      const { body } = await client.query({ paging: false }, 'org-many');
      expect(body).toMatchObject({ code: 'illegal_argument', result: [{ property: 'paging' }] });
    });

    test('returns every character of a name', async () => {
      const names = ['"', '\\', '\\"', 'a\u2028b', '$&', "{'", '泵 №1 \u{1F4A7}'];
      const devices = names.map((name, i) => ({ ...camera, id: `c-${i}`, name }));
      await client.createAll(devices, 'org-characters');
      const { data } = (await client.query({ orderBy: 'id' }, 'org-characters')).result;
      expect(data.map(({ name }) => name)).toEqual(names);
      const bare = { includes: ['id'], excludes: ['id'] };
      expect((await client.query(bare, 'org-characters')).result.data[0]).toEqual({});
    });

    test('returns an empty page past the end', async () => {
      const deep = await client.query({ pageIndex: 101, pageSize: 1000 });
      expect(deep.result).toMatchObject({ total: 7, data: [] });
    });
  });
}
