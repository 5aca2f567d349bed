import { NEVER_EXPIRES, type Store } from '@gatehouse/store';
import { assertSecureKey } from '../credential-policy/secure-key-policy.ts';
import type { OnDamagedRecord } from '../records/damaged-record.ts';
import { readForUpdate } from '../records/parse-record.ts';
import { createRecordCache } from '../records/record-cache.ts';
import { withRecordLock } from '../records/record-lock.ts';
import { RejectedChangeError } from '../records/rejected-change-error.ts';
import type { CredentialHash } from '../secrets/credential-hash.ts';
import type { Sealer } from '../secrets/seal.ts';
import { type Client, clientKey, parseClient } from './client.ts';
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
  /** If undefined, a new client is enabled and an existing client does not change. */
  readonly enabled?: boolean | undefined;
  /** Epoch seconds. Never decreases, because that would undo a revocation. */
  readonly notBefore?: number | undefined;
}

export interface SaveOptions extends RemovalOptions {
  /** Gets the record that the change replaces, under its lock. */
  readonly onReplace?: ((existing: Client) => void) | undefined;
}

export interface ClientRegistry {
  /** Returns a copy that is at most 50 ms old. */
  find(clientId: string): Promise<Client | undefined>;
  list(): Promise<readonly Client[]>;
  /** The decrypted active keys, newest first, to verify request signatures. */
  secureKeys(client: Client): readonly string[];
  /** Takes the same time for unknown clients and wrong secrets, so that timing reveals neither. */
  verifySecret(client: Client | undefined, presented: string): boolean;
  /** Like `verifySecret`, but returns the id of the key. Issued tokens contain this id. */
  identifySecret(client: Client | undefined, presented: string): string | undefined;
  /** The id of a secure key. */
  secureKeyId(secureKey: string): string;
  /** Whether credentials that were issued with the key are valid. Reads only the record. */
  isLiveKey(client: Client, keyId: string): boolean;
  /**
   * Creates or replaces a client. A new `secureKey` becomes the newest of at most two and revokes
   * the tokens of a key that it replaces, unless `keepTokens` is set. A public client loses its
   * keys.
   *
   * @throws TypeError if the secure key violates the policy
   *   (credential-policy/secure-key-policy.ts)
   */
  save(client: NewClient, secureKey?: string, options?: SaveOptions): Promise<Client>;
  /**
   * Replaces the settings of an existing client under its lock, as `save` does.
   *
   * @throws RejectedChangeError if the client does not exist, or `change` throws it
   */
  change(clientId: string, change: (client: Client) => NewClient): Promise<Client>;
  /**
   * Changes an existing client under its lock. The not-before never decreases.
   *
   * @throws RejectedChangeError if the client does not exist, or `change` throws it
   */
  update(clientId: string, change: (client: Client) => Client): Promise<Client>;
  /** Ids and ages of the active keys, newest first. */
  describeKeys(client: Client): readonly SecureKeyDescription[];
  /**
   * Adds a random key as the newest.
   *
   * @throws RejectedChangeError for a public client, or if two keys are active and `replaceOldest`
   *   is not set
   */
  rotateKey(clientId: string, options: RotationOptions): Promise<RotatedKey>;
  /**
   * Removes a key and revokes the tokens that were issued with it, unless `keepTokens` is set. Also
   * revokes the kept tokens of a key that was removed before.
   *
   * @throws RejectedChangeError if the client does not have the key, or has no other key
   */
  removeKey(clientId: string, keyId: string, options?: RemovalOptions): Promise<Client>;
}

const INDEX_KEY = 'clients';

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
        throw new RejectedChangeError(`The client ${clientId} does not exist.`);
      }
      return change(existing);
    });

  /** The settings of `client` with the keys that the existing record has. */
  function withKeys(client: NewClient, existing: Client | undefined): Client {
    const held = { ...noKeys, ...pickKeys(existing) };
    const enabled = client.enabled ?? existing?.enabled ?? true;
    const saved: Client = { ...client, enabled, notBefore: client.notBefore ?? 0, ...held };
    return client.public ? { ...saved, ...noKeys, removedKeyIds: held.removedKeyIds } : saved;
  }

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
        if (existing !== undefined) {
          options.onReplace?.(existing);
        }
        const saved = withKeys(client, existing);
        return secureKey === undefined || client.public
          ? saved
          : { ...saved, ...keys.withKey(saved, secureKey, options) };
      });
    },
    change: (clientId, change) =>
      update(clientId, (existing) => withKeys(change(existing), existing)),
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
        throw new RejectedChangeError(`${clientId} is a public client and has no secure key.`);
      }
      const { secureKey, keyId, replacedKeyId, ...members } = keys.rotate(existing, options);
      rotated = { secureKey, keyId, replacedKeyId };
      return { ...existing, ...members };
    });
    if (rotated === undefined) {
      throw new Error('The update did not call the change.');
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
