// requires: redis-server
// cspell:ignore Ｍａｒｉａ
import { randomUUID } from 'node:crypto';
import { NEVER_EXPIRES } from '@gatehouse/store';
import { expect, test } from '@jest/globals';
import { createRecordPages } from '../src/records/record-pages.ts';
import { describeOnEngines } from './engines.ts';

interface Named {
  readonly id: string;
  readonly name: string;
  readonly orgId: string;
}

describeOnEngines('pages of records', ({ openStore }) => {
  function setUp() {
    const store = openStore();
    const kind = `kind-${randomUUID()}`;
    const records = new Map<string, Named>();
    const open = () =>
      createRecordPages<Named>(
        {
          kind,
          idOf: ({ id }) => id,
          namesOf: ({ id, name }) => ({ words: [name], texts: [id] }),
          orgOf: ({ orgId }) => orgId,
          find: async (id) => records.get(id),
        },
        store,
      );
    const pages = open();
    /** As the registries write a record. */
    const write = async (id: string, name: string, orgId = 'acme') => {
      const [former, record] = [records.get(id), { id, name, orgId }];
      await pages.add(record, former);
      records.set(id, record);
      await store.addToIndex(`${kind}s`, id, NEVER_EXPIRES);
      await (former && pages.remove(former, record));
    };
    const idsOf = async (query: object) =>
      (await pages.read({ limit: 1000, ...query })).items.map(({ id }) => id);
    return { store, kind, records, open, pages, write, idsOf };
  }

  test('a record with several matching names is in one page, at the first of them', async () => {
    const { write, pages } = setUp();
    await write('1', 'Anna Anne');
    await write('2', 'Anna-Lena Anno');
    await write('3', 'Ann');
    const found: string[] = [];
    let after: string | undefined;
    do {
      const { items, next } = await pages.read({ search: 'ann', after, limit: 1 });
      found.push(...items.map(({ id }) => id));
      after = next;
    } while (after !== undefined);
    expect(found).toEqual(['3', '1', '2']);
  });

  test('a search ignores case, width and repeated spaces, and finds whole characters', async () => {
    const { write, idsOf } = setUp();
    await write('1', 'Ｍａｒｉａ  Élan');
    await write('2', `${'x'.repeat(99)}🔑 long`);
    for (const search of ['maria é', 'ÉLAN', ' MARIA  élan ']) {
      expect([search, await idsOf({ search })]).toEqual([search, ['1']]);
    }
    expect(await idsOf({ search: 'x'.repeat(120) })).toEqual([]);
    expect(await idsOf({ search: `${'x'.repeat(99)}🔑` })).toEqual(['2']);
  });

  test('records of an earlier release are found, and entries without a record are not', async () => {
    const { store, kind, records, open, write, idsOf } = setUp();
    for (let i = 0; i < 450; i += 1) {
      const id = `old-${String(i).padStart(3, '0')}`;
      records.set(id, { id, name: `Earlier ${i}`, orgId: i % 2 === 0 ? 'acme' : 'umbrella' });
      await store.addToIndex(`${kind}s`, id, NEVER_EXPIRES);
    }
    await write('new', 'Later');
    expect(await idsOf({ search: 'earlier' })).toHaveLength(450);
    expect(await idsOf({ search: 'earlier 449' })).toEqual(['old-449']);
    expect(await idsOf({ orgId: 'umbrella' })).toHaveLength(225);
    await store.addToIndex(`${kind}-names`, 'later\nremoved', NEVER_EXPIRES);
    await store.addToIndex(`${kind}-names`, 'wrong name\nnew', NEVER_EXPIRES);
    expect(await idsOf({ search: 'later' })).toEqual(['new']);
    expect(await idsOf({ search: 'wrong' })).toEqual([]);
    expect((await open().read({ search: 'later', limit: 9 })).items).toHaveLength(1);
  });

  test('a page reads a limited number of records, and the next one continues', async () => {
    const { store, kind, records, pages } = setUp();
    for (let i = 0; i < 1500; i += 1) {
      const id = String(i).padStart(4, '0');
      records.set(id, { id, name: id, orgId: 'acme' });
      await store.addToIndex(`${kind}s`, id, NEVER_EXPIRES);
    }
    const matches = ({ id }: Named) => id === '1400';
    const first = await pages.read({ matches, limit: 10 });
    expect(first).toEqual({ items: [], next: '0999' });
    const second = await pages.read({ matches, limit: 10, after: first.next });
    expect(second.items).toEqual([records.get('1400')]);
    expect(second.next).toBeUndefined();
  });

  test('nothing leads to a removed record', async () => {
    const { store, kind, records, pages, write, idsOf } = setUp();
    await write('1', 'Gone');
    const [record] = [...records.values()];
    await (record && pages.remove(record));
    records.clear();
    expect(await store.members(`${kind}-names`)).toEqual([]);
    expect(await idsOf({ orgId: 'acme' })).toEqual([]);
  });
});
