import { beforeAll, describe, expect, test } from '@jest/globals';
import { deviceSubject } from '../../src/devices/pages.ts';
import { logSubject } from '../../src/logs/sql.ts';
import { productSubject } from '../../src/products.ts';
import type { QueryColumn } from '../../src/query/query.ts';
import type { BootedApp } from '../booted-app.ts';
import { camera, createDeviceClient, type DeviceClient } from '../device-client.ts';

/** A value for each kind of column. */
const values = { text: 'a', integer: 1, enum: '' } as const;

/** Every clause of a query that can name the column. */
function clausesOf(name: string, column: QueryColumn): readonly object[] {
  const value = column.kind === 'enum' ? column.values[0] : values[column.kind];
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

export function queryContract(appOf: () => BootedApp): void {
  let client: DeviceClient;

  beforeAll(() => {
    client = createDeviceClient(appOf());
  });

  const org = 'org-query';
  const ids = async (body: object) =>
    (await client.query({ pageSize: 100, orderBy: 'id', ...body }, org)).body.result.data.map(
      ({ id }) => id,
    );

  describe('a query', () => {
    test.each([
      ['devices', deviceSubject, '/device/instance/_query', '/api/device'],
      ['counts', deviceSubject, '/device/instance/_count', '/device/instance/_count'],
      ['products', productSubject, '/device/product/_query', '/device/product/_query'],
      ['a log', logSubject, '/device/instance/walked/log/_query', undefined],
    ])('of %s accepts every column in every clause', async (what, subject, path, get) => {
      await client.create({ id: 'walked', ...camera }, 'org-walk');
      await client.report('walked', { type: 'event', content: 'a' }, 'org-walk');
      const rejected: unknown[] = [];
      const call = async (method: string, target: string, clause: object, body?: object) => {
        const reply = await client.call(method, target, body, { org: 'org-walk' });
        rejected.push(...(reply.status === 200 ? [] : [{ clause, reply }]));
      };
      const kinds = new Set<string>();
      for (const [name, column] of Object.entries(subject.columns)) {
        // Parameters, and the SQL of a count, depend on the kind of a column only.
        const isNewKind = !kinds.has(column.kind);
        kinds.add(column.kind);
        if (what === 'counts' && !isNewKind) {
          continue;
        }
        for (const clause of clausesOf(name, column)) {
          await call('POST', path, clause, clause);
          if (isNewKind) {
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
        await client.create({ id: `q${i}`, name, ...products[i % 2] }, org);
      }
      for (const id of ['q0', 'q1', 'q2']) {
        await client.call('POST', `/device/instance/${id}/_deploy`, undefined, { org });
      }
      await client.report('q0', { type: 'online' }, org);
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
        expect((await client.query({ where }, org)).status).toBe(400);
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
      const array = await client.list(parameters, org);
      const page = await client.call('GET', `/device/instance/_query${parameters}`, undefined, {
        org,
      });
      const count = await client.call('GET', `/device/instance/_count${parameters}`, undefined, {
        org,
      });

      expect(array.body.result.map(({ id }) => id)).toEqual(['q2', 'q0']);
      expect(page.body.result).toMatchObject({ pageIndex: 0, pageSize: 25, total: 2 });
      expect(page.body.result.data).toEqual(array.body.result);
      expect(count.body.result).toBe(2);
    });

    test('sorts text by byte on every engine', async () => {
      const reply = await client.query({ sorts: [{ name: 'name', order: 'desc' }] }, org);

      const names = reply.body.result.data.map(({ name }) => name);
      expect(names).toEqual(['ключ', 'alpha', "O'Neil", 'Gamma*[x]?', 'Beta_1', 'Beta%2', 'Alpha']);
    });

    test('counts pages from firstPageIndex, uses a known total, and returns selected fields', async () => {
      const first = await client.query(
        { firstPageIndex: 1, pageIndex: 1, pageSize: 2, orderBy: 'id', includes: ['id', 'name'] },
        org,
      );
      const second = await client.query(
        {
          firstPageIndex: 1,
          pageIndex: 2,
          pageSize: 2,
          total: 7,
          orderBy: 'id',
          excludes: ['name'],
        },
        org,
      );

      expect(first.body.result).toEqual({
        pageIndex: 1,
        pageSize: 2,
        total: 7,
        data: [
          { id: 'q0', name: 'Alpha' },
          { id: 'q1', name: 'alpha' },
        ],
      });
      expect(second.body.result).toMatchObject({ pageIndex: 2, total: 7 });
      expect(second.body.result.data.map(({ id }) => id)).toEqual(['q2', 'q3']);
      expect(second.body.result.data[0]).not.toHaveProperty('name');
    });

    test('does not report a known total as exact if its count may have stopped there', async () => {
      const ask = async (total: number) =>
        (await client.query({ pageSize: 2, total }, org)).body.result;

      expect(await ask(10_000)).toMatchObject({ total: 10_000, totalIsExact: false });
      expect(await ask(9_999)).not.toHaveProperty('totalIsExact');
    });

    test.each(['includes', 'excludes'])(
      'takes %s without a name for all fields',
      async (fields) => {
        const all = await client.list('?orderBy=id&pageSize=1', org);
        const reply = await client.list(`?orderBy=id&pageSize=1&${fields}=`, org);
        expect(reply.body.result).toEqual(all.body.result);
      },
    );

    test('returns all records with paging false, and rejects a result that is too large', async () => {
      const all = await client.query({ paging: false, pageSize: 1 }, org);
      expect(all.body.result).toMatchObject({ pageIndex: 0, total: 7 });
      expect(all.body.result.data).toHaveLength(7);

      const many = Array.from({ length: 1001 }, (_, i) => ({ id: `m-${i}`, ...camera }));
      await client.createAll(many, 'org-many');
      const refused = await client.query({ paging: false }, 'org-many');
      expect(refused.body).toMatchObject({
        code: 'illegal_argument',
        result: [{ property: 'paging' }],
      });
    });

    test('DL-10 finds a device right after it was created', async () => {
      await client.create({ id: 'fresh', ...camera }, 'org-fresh');

      const reply = await client.query({ where: 'id = fresh' }, 'org-fresh');
      expect(reply.body.result).toMatchObject({ total: 1, data: [{ id: 'fresh' }] });
    });

    test('reports when counting stopped early, and rejects a page that is too deep', async () => {
      const deep = await client.query({ pageIndex: 101, pageSize: 1000 }, org);
      expect(deep.body.result).toMatchObject({ total: 7, data: [] });
    });
  });
}
