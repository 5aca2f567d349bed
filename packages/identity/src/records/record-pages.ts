/**
 * Pages of records: all, those of an organization, or those with a name that begins with a text.
 * Indexes lead to the records, and each record confirms what led to it.
 */
import { NEVER_EXPIRES, type Store } from '@gatehouse/store';

export interface PageQuery<Stored> {
  /** An id, an address, or a word of a name begins with this text, in any case. */
  readonly search?: string | undefined;
  readonly orgId?: string | undefined;
  readonly matches?: ((record: Stored) => boolean) | undefined;
  /** `next` of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** So that a page with a filter that few records match ends within 300 ms. */
const MAXIMUM_READ = 1000;
/** Also written together. */
const READ_TOGETHER = 200;
const MAXIMUM_CHARACTERS = 100;
/** Of one name. */
const MAXIMUM_WORDS = 5;
/** No name contains it. It precedes all characters of names, so that shorter names come first. */
const SEPARATOR = '\n';

export interface PagedRecords<Stored> {
  /** In the keys of the indexes. The index of all ids is its plural. */
  readonly kind: string;
  readonly idOf: (record: Stored) => string;
  /** Searches find the start of each name, and of each word in `words`. */
  readonly namesOf: (
    record: Stored,
  ) => Readonly<Record<'words' | 'texts', readonly (string | undefined)[]>>;
  readonly orgOf?: (record: Stored) => string;
  /** By default, all. */
  readonly isPaged?: (record: Stored) => boolean;
  readonly find: (id: string) => Promise<Stored | undefined>;
}

export function createRecordPages<Stored>(records: PagedRecords<Stored>, store: Store) {
  const { kind, namesOf, orgOf } = records;
  const index = `${kind}s`;
  const placesOf = createPlaces(records);
  const markerKey = `${index}-indexed`;
  let completed: Promise<void> | undefined;

  const addPlaces = (places: readonly Place[]) =>
    Promise.all(places.map(([key, member]) => store.addToIndex(key, member, NEVER_EXPIRES)));

  /** Adds the records of a release without these indexes, once. */
  async function complete(): Promise<void> {
    if ((await store.get(markerKey)) === undefined) {
      let places: Place[] = [];
      for await (const { record } of readIndex(index, '', undefined, records, store)) {
        places.push(...(record === undefined ? [] : placesOf(record)));
        if (places.length >= READ_TOGETHER) {
          await addPlaces(places);
          places = [];
        }
      }
      await addPlaces(places);
      await store.set(markerKey, '1');
    }
  }

  const assertComplete = () => {
    completed ??= complete().catch((error) => {
      completed = undefined;
      throw error;
    });
    return completed;
  };

  return {
    /** Before the record is written. An entry that is not needed is harmless. */
    async add(record: Stored, former?: Stored): Promise<void> {
      const added = differing(placesOf(record), former && placesOf(former));
      if (added.length > 0) {
        const isFirst = (await store.membersWithPrefix(index, '', 1)).length === 0;
        await (isFirst && assertComplete());
        await addPlaces(added);
      }
    },
    /** After the record was written or deleted. */
    async remove(former: Stored, current?: Stored): Promise<void> {
      for (const place of differing(placesOf(former), current && placesOf(current))) {
        await store.removeFromIndex(...place);
      }
    },
    /** Can have fewer items than the limit, and even none, although more records follow: after `next`. */
    async read(query: PageQuery<Stored>) {
      const { orgId, matches = () => true, limit, after } = query;
      const prefix = canonicalName(query.search ?? '');
      const ofOrganization = orgId === undefined ? index : organizationKey(kind, orgId);
      const key = prefix === '' ? ofOrganization : namesKey(kind);
      if (key !== index) {
        await assertComplete();
      }
      const isFound = (record: Stored, member: string) =>
        (prefix === '' || isFirstName(searchableNames(namesOf(record)), prefix, member)) &&
        (orgId === undefined || orgOf?.(record) === orgId) &&
        matches(record);
      const items: Stored[] = [];
      let read = 0;
      // A page without a filter needs one more than its limit, to know whether more follow.
      const first = Math.min(limit + 1, READ_TOGETHER);
      for await (const found of readIndex(key, prefix, after, records, store, first)) {
        const { member, record, isLast } = found;
        read += 1;
        if (record !== undefined && isFound(record, member)) {
          items.push(record);
        }
        if (!isLast && (items.length === limit || read === MAXIMUM_READ)) {
          return { items, next: member };
        }
      }
      return { items };
    },
  };
}

type Place = readonly [key: string, member: string];

const namesKey = (kind: string) => `${kind}-names`;
const organizationKey = (kind: string, orgId: string) => `${kind}s-of:${orgId}`;

/** Where the indexes name a record. */
function createPlaces<Stored>(records: PagedRecords<Stored>) {
  const { kind, idOf, namesOf, orgOf, isPaged } = records;
  return (record: Stored): readonly Place[] => {
    if (isPaged?.(record) === false) {
      return [];
    }
    const id = idOf(record);
    const names = searchableNames(namesOf(record));
    const places = names.map((name): Place => [namesKey(kind), name + SEPARATOR + id]);
    return orgOf ? [...places, [organizationKey(kind, orgOf(record)), id]] : places;
  };
}

function differing(places: readonly Place[], others: readonly Place[] = []): readonly Place[] {
  const known = new Set(others.map(String));
  return places.filter((place) => !known.has(String(place)));
}

async function* readIndex<Stored>(
  key: string,
  prefix: string,
  start: string | undefined,
  { find }: PagedRecords<Stored>,
  store: Store,
  first = READ_TOGETHER,
) {
  for (let after = start, size = first; ; size = READ_TOGETHER) {
    const members = await store.membersWithPrefix(key, prefix, size, after);
    const found = await Promise.all(members.map((member) => find(idIn(member))));
    const isEnd = members.length < size;
    for (const [i, member] of members.entries()) {
      yield { member, record: found[i], isLast: isEnd && i === members.length - 1 };
    }
    if (isEnd) {
      return;
    }
    after = members.at(-1);
  }
}

const idIn = (member: string): string => member.slice(member.lastIndexOf(SEPARATOR) + 1);

/** Several names of a record can begin with the text. The first one leads to it. */
function isFirstName(names: readonly string[], prefix: string, member: string): boolean {
  const inOrder = names.filter((name) => name.startsWith(prefix)).sort(inOrderOfBytes);
  return inOrder[0] === member.slice(0, member.lastIndexOf(SEPARATOR));
}

const inOrderOfBytes = (a: string, b: string) =>
  Buffer.compare(Buffer.from(a + SEPARATOR), Buffer.from(b + SEPARATOR));

const canonicalName = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .trim()
    .replace(/\s+/g, ' ')
    .slice(0, MAXIMUM_CHARACTERS)
    .toWellFormed();

/** Without those with which another one begins, because its entry leads to the record, too. */
function searchableNames({
  words,
  texts,
}: ReturnType<PagedRecords<never>['namesOf']>): readonly string[] {
  const starts = words.flatMap((name = '') => {
    const text = canonicalName(name);
    const places = [...text.matchAll(/(?<=[\s._:/-])[^\s._:/-]/g)].map((found) => found.index);
    return [0, ...places].slice(0, MAXIMUM_WORDS).map((place) => text.slice(place));
  });
  const names = [...new Set([...starts, ...texts.map((text = '') => canonicalName(text))])];
  return names.filter(
    (name) => name !== '' && !names.some((other) => other !== name && other.startsWith(name)),
  );
}
