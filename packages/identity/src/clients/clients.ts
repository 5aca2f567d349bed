import { LRUCache } from 'lru-cache';
import { lastUseOfClient } from '../records/last-use.ts';
import { RejectedChangeError } from '../records/record.ts';
import { createRegistry, type RegistryDependencies } from '../records/registry.ts';
import type { SettingsRegistry } from '../settings/settings.ts';
import { type Console, openConsoleClient } from './built-in-clients.ts';
import type { Client, ClientSettings } from './client.ts';
import {
  createClientKeys,
  formatClient,
  isKept,
  keysOfPublicClient,
  type RemovalOptions,
} from './client-keys.ts';
import { assertMayOperate, withDeclaredScopes, withoutOperatorScopes } from './declared-scopes.ts';
import { createDocumentRules, isDocumentAddress } from './document-clients.ts';
import { publicKeyIds } from './public-keys.ts';

/**
 * By default, a new client is enabled, and nothing of the state of an existing client changes. The
 * not-before never decreases, because that would undo a revocation.
 */
export type NewClient = ClientSettings & {
  readonly [Name in 'enabled' | 'notBefore' | 'registration']?: Client[Name] | undefined;
};

/** Most of its members expire, and no request lists them. */
const DOCUMENTS_INDEX = 'document-clients';

export type ClientRegistry = ReturnType<typeof createClientRegistry>;

export function createClientRegistry(
  dependencies: Parameters<typeof createClientKeys>[0] & Parameters<typeof createClientRecords>[0],
) {
  const { parse, withKey, rotate, remove, ...keys } = createClientKeys(dependencies);
  const ofConsole = openConsoleClient(dependencies.console, { withKey, ...keys });
  const { write, ...records } = createClientRecords(dependencies, parse);
  const { list, update } = records;

  function withNewKey(
    client: NewClient,
    existing: Client | undefined,
    { secureKey, ...options }: RemovalOptions & { readonly secureKey: string | undefined },
  ): Client {
    const saved = withState(client, existing);
    return secureKey === undefined || client.public
      ? saved
      : { ...saved, keys: withKey(saved, secureKey, options) };
  }

  return {
    ...records,
    ...keys,
    /**
     * Returns a copy that is at most 50 ms old. A metadata document may describe the client. That of
     * the console has no record.
     */
    find: (clientId: string): Promise<Client | undefined> =>
      clientId === ofConsole?.clientId ? Promise.resolve(ofConsole) : records.find(clientId),
    /** Whether an enabled client registered this origin. The copy is at most one second old. */
    hasOrigin: createOriginCheck(list),
    /** Takes the same time for unknown clients and wrong secrets, so that timing reveals neither. */
    verifySecret: (client: Client | undefined, presented: string): boolean =>
      keys.identifySecret(client, presented) !== undefined,
    /** Whether credentials that were issued with the key are valid. Reads only the record. */
    isLiveKey: (client: Client, keyId: string): boolean =>
      client.keys.some(({ id, state }) => id === keyId && state !== 'removed') ||
      publicKeyIds(client).includes(keyId),
    /** The active secure keys and the public keys. */
    keyIds: (client: Client): readonly string[] => [
      ...keys.describeKeys(client).map(({ keyId }) => keyId),
      ...publicKeyIds(client),
    ],
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
     */
    save: (client: NewClient, secureKey?: string, options: RemovalOptions = {}): Promise<Client> =>
      write(client.clientId, (existing) => withNewKey(client, existing, { ...options, secureKey })),
    /** Creates a client as `save` does. @throws RejectedChangeError if it exists */
    add: (client: NewClient, secureKey?: string): Promise<Client> =>
      write(client.clientId, (existing) => {
        if (existing !== undefined) {
          throw new RejectedChangeError(`The client ${client.clientId} already exists.`);
        }
        return withNewKey(client, existing, { secureKey });
      }),
    /**
     * Replaces the settings of an existing client under its lock, as `save` does.
     *
     * @throws RejectedChangeError if the client does not exist, or `change` throws it
     */
    change: (clientId: string, change: (client: Client) => NewClient): Promise<Client> =>
      update(clientId, (existing) => withState(change(existing), existing)),
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
      const rotated = Promise.withResolvers<Omit<ReturnType<typeof rotate>, 'keys'>>();
      const client = await update(clientId, (existing) => {
        if (existing.public) {
          throw new RejectedChangeError(`${clientId} is a public client and has no secure key.`);
        }
        const { keys: replaced, ...rotation } = rotate(existing, options);
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
      update(clientId, (existing) => remove(existing, keyId, options)),
    /** Deletes the client with its keys. @param assertMay throws to keep it */
    remove: (clientId: string, assertMay?: (client: Client) => void): Promise<Client | undefined> =>
      records.remove(clientId, async (client) => {
        assertMay?.(client);
        const keyIds = client.keys.map(({ id }) => id);
        return lastUseOfClient(clientId, [...keyIds, ...publicKeyIds(client)]);
      }),
  };
}

/** The records of registered clients, and of those that metadata documents describe. */
function createClientRecords(
  dependencies: RegistryDependencies & {
    readonly settings: SettingsRegistry;
    /** Undefined: there is none. */
    readonly console?: Console | undefined;
  },
  parse: ReturnType<typeof createClientKeys>['parse'],
) {
  const { settings } = dependencies;
  const applySettings = createDocumentRules();
  const registry = createRegistry<Client>(
    {
      kind: 'client',
      paging: {
        idOf: ({ clientId }) => clientId,
        namesOf: ({ clientId, name }) => ({ words: [clientId, name], texts: [] }),
        isPaged: ({ document }) => document === undefined,
      },
      parse,
      format: formatClient,
      async settle(client, existing) {
        if (client.document !== undefined) {
          return client;
        }
        const declared = await settings.read();
        assertMayOperate(client, existing, declared);
        return withDeclaredScopes(client, existing, declared);
      },
      placeOf: ({ document }) =>
        document ? { index: DOCUMENTS_INDEX, ...document } : { index: 'clients' },
    },
    dependencies,
  );
  const { write } = registry;
  const list = () => registry.list();
  async function findDocument(clientId: string): Promise<Client | undefined> {
    const client = await registry.find(clientId);
    return client?.document === undefined ? client : applySettings(await settings.read())(client);
  }
  async function findRegistered(clientId: string): Promise<Client | undefined> {
    const client = await registry.find(clientId);
    const isOwn = dependencies.console === undefined || client?.registration === undefined;
    return isOwn ? client : withoutOperatorScopes(client);
  }
  /** The record of a metadata document no longer expires. */
  const update: typeof registry.update = (clientId, change) =>
    registry.update(clientId, (existing) => {
      const changed = change(existing);
      return changed.document === undefined ? changed : { ...changed, document: {} };
    });

  return {
    write,
    update,
    remove: registry.remove,
    /** Pages of the registered clients. */
    page: registry.page,
    find: (clientId: string): Promise<Client | undefined> =>
      isDocumentAddress(clientId) ? findDocument(clientId) : findRegistered(clientId),
    /** The registered clients. */
    list,
    /** The clients that documents describe, as far as their records have not expired. */
    listDocuments: () => registry.list(DOCUMENTS_INDEX),
    /**
     * Keeps the record of a client that a document describes, at least until then.
     *
     * @param described undefined: only its expiry changes
     * @throws RejectedChangeError if there is no record of a document
     */
    rememberDocument: (clientId: string, expiresAt: number, described?: ClientSettings) =>
      write(clientId, (existing) => {
        const client = described ? withState(described, existing) : existing;
        if (client === undefined || (existing !== undefined && existing.document === undefined)) {
          throw new RejectedChangeError(`No metadata document describes the client ${clientId}.`);
        }
        const { expiresAt: known } = existing?.document ?? { expiresAt };
        // What an operator changed stays.
        const document = known === undefined ? {} : { expiresAt: Math.max(known, expiresAt) };
        return { ...client, document };
      }),
  };
}

/** The settings of `client` with the state and the keys of the existing record. */
function withState(client: NewClient, existing: Client | undefined): Client {
  const { enabled = existing?.enabled ?? true, notBefore = 0 } = client;
  const { registration = existing?.registration } = client;
  const held = existing?.keys ?? [];
  return {
    ...client,
    enabled,
    notBefore,
    registration,
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
