import { NEVER_EXPIRES, type Store } from '@gatehouse/store';
import { type Client, parseClient } from './client.ts';
import { readForUpdate } from './parse-record.ts';
import { createRecordCache } from './record-cache.ts';
import { withRecordLock } from './record-lock.ts';
import type { Sealer } from './seal.ts';
import { matchesAnySecret } from './secret-comparison.ts';
import { generateSecureKey, isAcceptableSecureKey, secureKeyRule } from './secure-key.ts';

export interface NewClient extends Omit<Client, 'sealedSecureKeys' | 'enabled' | 'notBefore'> {
  /** Undefined leaves it as it is; a client that is new is enabled. */
  readonly enabled?: boolean | undefined;
  /** Epoch seconds. Only ever moves forward: saving a client never revives what was revoked. */
  readonly notBefore?: number | undefined;
}

export interface ClientRegistry {
  /** A copy at most 50 ms old. */
  find(clientId: string): Promise<Client | undefined>;
  list(): Promise<readonly Client[]>;
  /** The active keys in the clear, newest first: for the request signature, which needs them. */
  secureKeys(client: Client): readonly string[];
  /** Constant time, and the same work for an unknown client, so that neither answer nor timing tells. */
  verifySecret(client: Client | undefined, presented: string): boolean;
  /**
   * Creates or replaces. `secureKey`, where it is not yet active, becomes the newest of two. A public
   * client holds none: becoming one ends those it had.
   *
   * @throws TypeError when the secureKey is not 16 to 256 printable ASCII characters
   */
  save(client: NewClient, secureKey?: string): Promise<Client>;
}

const MAXIMUM_ACTIVE_KEYS = 2;
const INDEX_KEY = 'clients';
const keyOf = (clientId: string) => `client:${clientId}`;
const sealContext = (clientId: string) => `client:${clientId}:secureKey`;

export function createClientRegistry(dependencies: {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly now: () => number;
}): ClientRegistry {
  const { store, sealer, now } = dependencies;
  const cache = createRecordCache(store, parseClient, now);
  const openedKeys = new WeakMap<Client, readonly string[]>();
  /** Compared with in place of the keys a client does not have. In the clear, as opened keys are. */
  const decoyKeys = Array.from({ length: MAXIMUM_ACTIVE_KEYS }, () => generateSecureKey());

  function secureKeys(client: Client): readonly string[] {
    let keys = openedKeys.get(client);
    if (keys === undefined) {
      const context = sealContext(client.clientId);
      keys = client.sealedSecureKeys.map((sealed) => sealer.open(sealed, context));
      openedKeys.set(client, keys);
    }
    return keys;
  }

  function sealedKeys(client: NewClient, existing: Client | undefined, secureKey?: string) {
    if (client.public) {
      return [];
    }
    const sealed = existing?.sealedSecureKeys ?? [];
    const active = existing === undefined ? [] : secureKeys(existing);
    return secureKey === undefined || active.includes(secureKey)
      ? sealed
      : [sealer.seal(secureKey, sealContext(client.clientId)), ...sealed].slice(
          0,
          MAXIMUM_ACTIVE_KEYS,
        );
  }

  return {
    find: (clientId) => cache.read(keyOf(clientId)),
    async list() {
      const ids = await store.members(INDEX_KEY);
      const found = await Promise.all(ids.map((id) => cache.read(keyOf(id))));
      return found.filter((client) => client !== undefined);
    },
    secureKeys,
    verifySecret(client, presented) {
      const keys = client === undefined ? [] : secureKeys(client);
      const matches = matchesAnySecret(presented, keys);
      matchesAnySecret(presented, decoyKeys.slice(keys.length));
      return matches && client?.enabled === true;
    },
    async save(client, secureKey) {
      if (secureKey !== undefined && !isAcceptableSecureKey(secureKey)) {
        throw new TypeError(`A secureKey ${secureKeyRule}.`);
      }
      const key = keyOf(client.clientId);
      return withRecordLock(store, key, async (assertHeld) => {
        const existing = await readForUpdate(store, key, parseClient);
        const saved: Client = {
          ...client,
          enabled: client.enabled ?? existing?.enabled ?? true,
          notBefore: Math.max(client.notBefore ?? 0, existing?.notBefore ?? 0),
          sealedSecureKeys: sealedKeys(client, existing, secureKey),
        };
        assertHeld();
        await store.set(key, JSON.stringify(saved));
        cache.forget(key);
        await store.addToIndex(INDEX_KEY, client.clientId, NEVER_EXPIRES);
        return saved;
      });
    },
  };
}
