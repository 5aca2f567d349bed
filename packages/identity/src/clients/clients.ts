import { LRUCache } from 'lru-cache';
import { type RecordDependencies, RejectedChangeError } from '../records/record.ts';
import { createRegistry } from '../records/registry.ts';
import { assertSecureKey } from '../secrets/secure-keys.ts';
import type { Client, ClientSettings } from './client.ts';
import {
  createClientKeys,
  decoyKeys,
  formatClient,
  isKept,
  keysOfPublicClient,
  type RemovalOptions,
} from './client-keys.ts';

export type NewClient = ClientSettings & {
  /** If undefined, a new client is enabled and an existing client does not change. */
  readonly enabled?: boolean | undefined;
  /** Epoch seconds. Never decreases, because that would undo a revocation. */
  readonly notBefore?: number | undefined;
};

export type ClientRegistry = ReturnType<typeof createClientRegistry>;

export function createClientRegistry(
  dependencies: RecordDependencies & Parameters<typeof createClientKeys>[0],
) {
  const keys = createClientKeys(dependencies);
  const records = { kind: 'client', parse: keys.parse, format: formatClient } as const;
  const { find, list, write, update } = createRegistry<Client>(records, dependencies);

  return {
    find,
    list,
    /** Whether an enabled client registered this origin. The copy is at most one second old. */
    hasOrigin: createOriginCheck(list),
    /** The decrypted active keys, newest first, to verify request signatures. */
    secureKeys: keys.open,
    decoyKeys,
    /** Takes the same time for unknown clients and wrong secrets, so that timing reveals neither. */
    verifySecret: (client: Client | undefined, presented: string): boolean =>
      keys.identify(client, presented) !== undefined,
    /** Like `verifySecret`, but returns the id of the key. Issued tokens contain this id. */
    identifySecret: keys.identify,
    secureKeyId: keys.idOf,
    /** Whether credentials that were issued with the key are valid. Reads only the record. */
    isLiveKey: (client: Client, keyId: string): boolean =>
      client.keys.some(({ id, state }) => id === keyId && state !== 'removed'),
    /** Ids and ages of the active keys, newest first. */
    describeKeys: keys.describe,
    /** The keys that are no longer active, but whose tokens stay valid until they expire. */
    keptKeyIds: (client: Client): readonly string[] =>
      client.keys
        .filter(isKept)
        .map(({ id }) => id)
        .reverse(),
    /**
     * Creates or replaces a client. A new `secureKey` becomes the newest of at most two and revokes
     * the tokens of a key that it replaces, unless `keepTokens` is set. A public client loses its
     * keys.
     *
     * @throws TypeError if the secure key violates the policy
     */
    async save(
      client: NewClient,
      secureKey?: string,
      options: RemovalOptions = {},
    ): Promise<Client> {
      assertSecureKey(secureKey);
      return write(client.clientId, (existing) => {
        const saved = withState(client, existing);
        return secureKey === undefined || client.public
          ? saved
          : { ...saved, keys: keys.withKey(saved, secureKey, options) };
      });
    },
    /**
     * Replaces the settings of an existing client under its lock, as `save` does.
     *
     * @throws RejectedChangeError if the client does not exist, or `change` throws it
     */
    change: (clientId: string, change: (client: Client) => NewClient): Promise<Client> =>
      update(clientId, (existing) => withState(change(existing), existing)),
    update,
    /**
     * Adds a random key as the newest. It is shown only once.
     *
     * @throws RejectedChangeError for a public client, or if two keys are active and `replaceOldest`
     *   is not set
     */
    async rotateKey(
      clientId: string,
      options: RemovalOptions & { readonly replaceOldest: boolean },
    ) {
      const rotated = Promise.withResolvers<Omit<ReturnType<typeof keys.rotate>, 'keys'>>();
      const client = await update(clientId, (existing) => {
        if (existing.public) {
          throw new RejectedChangeError(`${clientId} is a public client and has no secure key.`);
        }
        const { keys: replaced, ...rotation } = keys.rotate(existing, options);
        rotated.resolve(rotation);
        return { ...existing, keys: replaced };
      });
      return { client, ...(await rotated.promise) };
    },
    /**
     * Removes a key and revokes the tokens that were issued with it, unless `keepTokens` is set. Also
     * revokes the kept tokens of a key that was removed before.
     *
     * @throws RejectedChangeError if the client does not have the key, or has no other key
     */
    removeKey: (clientId: string, keyId: string, options: RemovalOptions = {}): Promise<Client> =>
      update(clientId, (existing) => ({
        ...existing,
        keys: keys.remove(existing, keyId, options),
      })),
  };
}

/** The settings of `client` with the state and the keys of the existing record. */
function withState(client: NewClient, existing: Client | undefined): Client {
  const { enabled = existing?.enabled ?? true, notBefore = 0 } = client;
  const held = existing?.keys ?? [];
  return {
    ...client,
    enabled,
    notBefore,
    keys: client.public ? keysOfPublicClient(held) : held,
  };
}

const REFRESH_MILLISECONDS = 1000;

/** The origins that clients registered for browser applications (RFC 9700 §2.6). */
function createOriginCheck(list: () => Promise<readonly Client[]>) {
  const cache = new LRUCache<string, ReadonlySet<string>>({
    max: 1,
    ttl: REFRESH_MILLISECONDS,
    // Concurrent callers share a read. A failed read is discarded.
    fetchMethod: async () => {
      const enabled = (await list()).filter((client) => client.enabled);
      return new Set(enabled.flatMap((client) => client.corsOrigins));
    },
  });
  return async (origin: string): Promise<boolean> =>
    (await cache.fetch('origins'))?.has(origin) === true;
}
