import { NEVER_EXPIRES, type Store } from '@gatehouse/store';
import { assertSecureKey } from '../credential-policy/secure-key-policy.ts';
import type { OnDamagedRecord } from '../records/damaged-record.ts';
import { readForUpdate } from '../records/parse-record.ts';
import { createRecordCache } from '../records/record-cache.ts';
import { withRecordLock } from '../records/record-lock.ts';
import { RefusedChangeError } from '../records/refused-change-error.ts';
import type { CredentialHash } from '../secrets/credential-hash.ts';
import type { Sealer } from '../secrets/seal.ts';
import { type Client, parseClient } from './client.ts';
import {
  type ClientKeys,
  createClientKeys,
  type KeyMembers,
  noKeys,
  type RemovalOptions,
  type RotatedKey,
  type RotationOptions,
  type SecureKeyDescription,
} from './client-keys.ts';

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
  /** As `verifySecret`: the id of the key that was presented, for the tokens that are issued with it. */
  identifySecret(client: Client | undefined, presented: string): string | undefined;
  /** The id of one of the client's keys. */
  secureKeyId(secureKey: string): string;
  /** Whether what was issued with the key of this id is valid. From the record alone. */
  isLiveKey(client: Client, keyId: string): boolean;
  /**
   * Creates or replaces. `secureKey`, where it is not yet active, becomes the newest of two. A public
   * client holds none: becoming one ends those it had. The tokens of a key that is pushed out are revoked, unless
   * they are to be kept.
   *
   * @throws TypeError when the secureKey is not acceptable (credential-policy/secure-key-policy.ts)
   */
  save(client: NewClient, secureKey?: string, options?: RemovalOptions): Promise<Client>;
  /**
   * Changes an existing client under its lock. The not-before only ever moves forward.
   *
   * @throws RefusedChangeError when there is no such client, or `change` throws it
   */
  update(clientId: string, change: (client: Client) => Client): Promise<Client>;
  /** The active keys without themselves, newest first. */
  describeKeys(client: Client): readonly SecureKeyDescription[];
  /**
   * A new random key becomes the newest.
   *
   * @throws RefusedChangeError for a public client, and where two are active and the oldest shall stay
   */
  rotateKey(clientId: string, options: RotationOptions): Promise<RotatedKey>;
  /**
   * Removes a key, and revokes the tokens that were issued with it unless they are to be kept. Removing a key whose
   * tokens were kept revokes them.
   *
   * @throws RefusedChangeError for a key the client does not have, and for its last one
   */
  removeKey(clientId: string, keyId: string, options?: RemovalOptions): Promise<Client>;
}

const INDEX_KEY = 'clients';
export const clientKey = (clientId: string): string => `client:${clientId}`;

export function createClientRegistry(dependencies: {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly credentialHash: CredentialHash;
  readonly onDamagedRecord?: OnDamagedRecord | undefined;
  readonly now: () => number;
}): ClientRegistry {
  const { store, now } = dependencies;
  const cache = createRecordCache(store, parseClient, now, { ...dependencies, kind: 'client' });
  const keys = createClientKeys(dependencies);

  type Change = (existing: Client | undefined) => Client;

  async function write(clientId: string, toSaved: Change): Promise<Client> {
    const key = clientKey(clientId);
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
        throw new RefusedChangeError(`There is no client ${clientId}.`);
      }
      return change(existing);
    });

  const identifySecret: ClientRegistry['identifySecret'] = (client, presented) => {
    const keyId = keys.identify(client, presented);
    return client?.enabled === true ? keyId : undefined;
  };

  return {
    find: (clientId) => cache.read(clientKey(clientId)),
    async list() {
      const ids = await store.members(INDEX_KEY);
      const found = await Promise.all(ids.map((id) => cache.read(clientKey(id))));
      return found.filter((client) => client !== undefined);
    },
    secureKeys: keys.open,
    verifySecret: (client, presented) => identifySecret(client, presented) !== undefined,
    identifySecret,
    secureKeyId: keys.idOf,
    isLiveKey: keys.isLive,
    async save(client, secureKey, options = {}) {
      assertSecureKey(secureKey);
      return write(client.clientId, (existing) => {
        const held = { ...noKeys, ...pickKeys(existing) };
        const enabled = client.enabled ?? existing?.enabled ?? true;
        const saved: Client = { ...client, enabled, notBefore: client.notBefore ?? 0, ...held };
        if (client.public) {
          return { ...saved, ...noKeys, removedKeyIds: held.removedKeyIds };
        }
        return secureKey === undefined
          ? saved
          : { ...saved, ...keys.withKey(saved, secureKey, options) };
      });
    },
    update,
    describeKeys: keys.describe,
    rotateKey: createKeyRotation(update, keys),
    removeKey: (clientId, keyId, options = {}) =>
      update(clientId, (existing) => ({ ...existing, ...keys.remove(existing, keyId, options) })),
  };
}

function createKeyRotation(
  update: ClientRegistry['update'],
  keys: ClientKeys,
): ClientRegistry['rotateKey'] {
  return async (clientId, options) => {
    let rotated: Omit<RotatedKey, 'client'> | undefined;
    const client = await update(clientId, (existing) => {
      if (existing.public) {
        throw new RefusedChangeError(`${clientId} is a public client: it has no secureKey.`);
      }
      const { secureKey, keyId, replacedKeyId, ...members } = keys.rotate(existing, options);
      rotated = { secureKey, keyId, replacedKeyId };
      return { ...existing, ...members };
    });
    if (rotated === undefined) {
      throw new Error('The client was updated without its change.');
    }
    return { client, ...rotated };
  };
}

function pickKeys(client: Client | undefined): Partial<KeyMembers> {
  if (client === undefined) {
    return {};
  }
  const { sealedSecureKeys, secureKeyCreatedAt, removedKeyIds, keptKeyIds } = client;
  return { sealedSecureKeys, secureKeyCreatedAt, removedKeyIds, keptKeyIds };
}
