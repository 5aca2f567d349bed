import type { Store } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';

/** Each process writes the time of a use at most once in this time. */
const LEASE_MILLISECONDS = 60_000;
const MAXIMUM_LEASES = 10_000;
/** Longer than any credential lives. */
const KEPT_SECONDS = 400 * 24 * 60 * 60;

const userKey = (userId: string) => `last-use:user:${userId}`;
const clientKey = (clientId: string) => `last-use:client:${clientId}`;
const keyKey = (clientId: string, keyId: string) => `last-use:key:${keyId}:${clientId}`;
const practiceKey = (clientId: string, practice: Practice, keyId = '') =>
  `last-use:practice:${practice}:${keyId}:${clientId}`;

/** What clients migrate from, and version 2 of the signature. The first three are signatures. */
export const practices = [
  'MD5',
  'SHA-256',
  'HMAC-SHA-256',
  'query_token',
  'implicit',
  'password',
] as const;

export type Practice = (typeof practices)[number];

const isPractice = (name: string): name is Practice => practices.some((each) => each === name);

export type LastUse = ReturnType<typeof createLastUse>;

/**
 * When users last signed in, and when clients and their keys were last used. A use costs lookups
 * in two maps, and nothing waits for the write. If a write fails, the next one is due a minute later, so
 * that a stored time is at most two minutes old.
 */
export function createLastUse(store: Pick<Store, 'get' | 'set'>, now: () => number) {
  // Two levels, because joining two ids would cost more than both lookups.
  const leases = new LRUCache<string, Map<string | undefined, number>>({ max: MAXIMUM_LEASES });

  function note(id: string, keyId: string | undefined, keysOf: () => readonly string[]): void {
    const at = now();
    const ofId = leases.get(id) ?? new Map<string | undefined, number>();
    const age = at - (ofId.get(keyId) ?? Number.NEGATIVE_INFINITY);
    // The age is negative if the clock was set back.
    if (age >= 0 && age < LEASE_MILLISECONDS) {
      return;
    }
    leases.set(id, ofId.set(keyId, at));
    for (const key of keysOf()) {
      store.set(key, String(Math.floor(at / 1000)), KEPT_SECONDS).catch(() => undefined);
    }
  }

  /** Epoch seconds. Undefined: not within 400 days. */
  async function read(key: string): Promise<number | undefined> {
    const seconds = Number((await store.get(key)) ?? Number.NaN);
    return Number.isSafeInteger(seconds) ? seconds : undefined;
  }

  /** @param keyId of the key that the client proved, if any */
  const noteClient = (clientId: string, keyId?: string): void =>
    note(clientId, keyId, () => [
      clientKey(clientId),
      ...(keyId === undefined ? [] : [keyKey(clientId, keyId)]),
    ]);

  return {
    noteUser: (userId: string): void => note(userKey(userId), undefined, () => [userKey(userId)]),
    noteClient,
    /** @returns the id of the key that the client proved, if any */
    noteKey(clientId: string, keyId: string | undefined): string | undefined {
      if (keyId !== undefined) {
        noteClient(clientId, keyId);
      }
      return keyId;
    },
    /**
     * @param practice any other name is ignored
     * @param keyId of the key that signed
     */
    notePractice(clientId: string, practice: string, keyId?: string): void {
      if (isPractice(practice)) {
        note(clientId, `${practice} ${keyId ?? ''}`, () => [
          practiceKey(clientId, practice),
          ...(keyId === undefined ? [] : [practiceKey(clientId, practice, keyId)]),
        ]);
      }
    },
    /** @param keyId the signatures of this key only */
    ofPractice: (clientId: string, practice: Practice, keyId?: string) =>
      read(practiceKey(clientId, practice, keyId)),
    ofUser: (userId: string) => read(userKey(userId)),
    ofClient: (clientId: string) => read(clientKey(clientId)),
    ofKey: (clientId: string, keyId: string) => read(keyKey(clientId, keyId)),
  };
}

/** What is deleted together with a user. */
export const lastUseOfUser = (userId: string): readonly string[] => [userKey(userId)];

/** What is deleted together with a client. */
export const lastUseOfClient = (clientId: string, keyIds: readonly string[]): readonly string[] => [
  clientKey(clientId),
  ...keyIds.map((keyId) => keyKey(clientId, keyId)),
  ...['', ...keyIds].flatMap((keyId) =>
    practices.map((practice) => practiceKey(clientId, practice, keyId)),
  ),
];
