import { NEVER_EXPIRES, type Store } from '@gatehouse/store';
import { type Client, parseClient } from './client.ts';
import {
  createClientKeys,
  decoyKeys,
  type KeyMembers,
  noKeys,
  type RotatedKey,
  type SecureKeyDescription,
} from './client-keys.ts';
import type { CredentialHash } from './credential-hash.ts';
import { readForUpdate } from './parse-record.ts';
import { createRecordCache } from './record-cache.ts';
import { withRecordLock } from './record-lock.ts';
import { RefusedChange } from './refused-change.ts';
import type { Sealer } from './seal.ts';
import { matchesAnySecret } from './secret-comparison.ts';
import { isAcceptableSecureKey, secureKeyRule } from './secure-key.ts';

export interface NewClient extends Omit<Client, keyof KeyMembers | 'enabled' | 'notBefore'> {
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
  /**
   * Changes an existing client under its lock. The not-before only ever moves forward.
   *
   * @throws RefusedChange when there is no such client, or `change` throws it
   */
  update(clientId: string, change: (client: Client) => Client): Promise<Client>;
  /** The active keys without themselves, newest first. */
  describeKeys(client: Client): readonly SecureKeyDescription[];
  /**
   * A new random key becomes the newest.
   *
   * @throws RefusedChange for a public client, and where two are active and the oldest shall stay
   */
  rotateKey(clientId: string, options: { readonly replaceOldest: boolean }): Promise<RotatedKey>;
  /** @throws RefusedChange for a key the client does not have, and for its last one */
  removeKey(clientId: string, keyId: string): Promise<Client>;
}

const INDEX_KEY = 'clients';
const keyOf = (clientId: string) => `client:${clientId}`;

export function createClientRegistry(dependencies: {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly credentialHash: CredentialHash;
  readonly now: () => number;
}): ClientRegistry {
  const { store, now } = dependencies;
  const cache = createRecordCache(store, parseClient, now);
  const keys = createClientKeys(dependencies);

  type Change = (existing: Client | undefined) => Client;

  async function write(clientId: string, toSaved: Change): Promise<Client> {
    const key = keyOf(clientId);
    return withRecordLock(store, key, async (assertHeld) => {
      const existing = await readForUpdate(store, key, parseClient);
      const wanted = toSaved(existing);
      const notBefore = Math.max(wanted.notBefore, existing?.notBefore ?? 0);
      const saved: Client = { ...wanted, clientId, notBefore };
      if (existing === undefined) {
        await store.addToIndex(INDEX_KEY, clientId, NEVER_EXPIRES);
      }
      assertHeld();
      const revokes = existing !== undefined;
      await store.set(key, JSON.stringify(saved), undefined, { revokes });
      cache.forget(key);
      return saved;
    });
  }

  const update: ClientRegistry['update'] = (clientId, change) =>
    write(clientId, (existing) => {
      if (existing === undefined) {
        throw new RefusedChange(`There is no client ${clientId}.`);
      }
      return change(existing);
    });

  return {
    find: (clientId) => cache.read(keyOf(clientId)),
    async list() {
      const ids = await store.members(INDEX_KEY);
      const found = await Promise.all(ids.map((id) => cache.read(keyOf(id))));
      return found.filter((client) => client !== undefined);
    },
    secureKeys: keys.open,
    verifySecret(client, presented) {
      const active = client === undefined ? [] : keys.open(client);
      const matches = matchesAnySecret(presented, active);
      matchesAnySecret(presented, decoyKeys.slice(active.length));
      return matches && client?.enabled === true;
    },
    async save(client, secureKey) {
      if (secureKey !== undefined && !isAcceptableSecureKey(secureKey)) {
        throw new TypeError(`A secureKey ${secureKeyRule}.`);
      }
      return write(client.clientId, (existing) => {
        const held = { ...noKeys, ...pickKeys(existing) };
        const enabled = client.enabled ?? existing?.enabled ?? true;
        const saved: Client = { ...client, enabled, notBefore: client.notBefore ?? 0, ...held };
        if (client.public) {
          return { ...saved, ...noKeys, removedKeyIds: held.removedKeyIds };
        }
        return secureKey === undefined ? saved : { ...saved, ...keys.withKey(saved, secureKey) };
      });
    },
    update,
    describeKeys: keys.describe,
    async rotateKey(clientId, { replaceOldest }) {
      let rotated: Omit<RotatedKey, 'client'> | undefined;
      const client = await update(clientId, (existing) => {
        if (existing.public) {
          throw new RefusedChange(`${clientId} is a public client: it has no secureKey.`);
        }
        const { secureKey, keyId, ...members } = keys.rotate(existing, replaceOldest);
        rotated = { secureKey, keyId };
        return { ...existing, ...members };
      });
      if (rotated === undefined) {
        throw new Error('The client was updated without its change.');
      }
      return { client, ...rotated };
    },
    removeKey: (clientId, keyId) =>
      update(clientId, (existing) => ({ ...existing, ...keys.remove(existing, keyId) })),
  };
}

function pickKeys(client: Client | undefined): Partial<KeyMembers> {
  if (client === undefined) {
    return {};
  }
  const { sealedSecureKeys, secureKeyCreatedAt, removedKeyIds } = client;
  return { sealedSecureKeys, secureKeyCreatedAt, removedKeyIds };
}
