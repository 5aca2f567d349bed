import { randomBytes, randomInt } from 'node:crypto';
import { NEVER_EXPIRES, type Store } from '@gatehouse/store';
import { createRecordCache } from './record-cache.ts';
import type { Sealer } from './seal.ts';
import { matchesAnySecret } from './secret-comparison.ts';

export type SignatureAlgorithm = 'MD5' | 'SHA-256';

/** An application or machine that holds a secureKey, or a public one that holds none. */
export interface Client {
  readonly clientId: string;
  readonly name: string;
  readonly orgId: string;
  readonly signatureAlgorithm: SignatureAlgorithm;
  readonly grantTypes: readonly string[];
  readonly redirectUris: readonly string[];
  readonly postLogoutRedirectUris: readonly string[];
  readonly scopes: readonly string[];
  readonly applicationType: 'web' | 'native';
  readonly public: boolean;
  readonly firstParty: boolean;
  readonly resourceServer: boolean;
  readonly ownOrganizationOnly: boolean;
  readonly corsOrigins: readonly string[];
  readonly ipAllowList: readonly string[];
  readonly enabled: boolean;
  /** Epoch seconds: what was issued then or earlier is dead. */
  readonly notBefore: number;
  /** Newest first, sealed; at most two are active at a time. */
  readonly sealedSecureKeys: readonly string[];
}

export type NewClient = Omit<Client, 'sealedSecureKeys'>;

export interface ClientRegistry {
  /** A copy at most 50 ms old. */
  find(clientId: string): Promise<Client | undefined>;
  list(): Promise<readonly Client[]>;
  /** The active keys in the clear, newest first: for the request signature, which needs them. */
  secureKeys(client: Client): readonly string[];
  /** Constant time, and the same work for an unknown client, so that neither answer nor timing tells. */
  verifySecret(client: Client | undefined, presented: string): boolean;
  /** Creates or replaces. `secureKey`, where it is not yet active, becomes the newest of two. */
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
  const cache = createRecordCache(store, (text) => JSON.parse(text) as Client, now);
  const openedKeys = new WeakMap<Client, readonly string[]>();
  const decoyKey = generateSecureKey();
  const decoySealed = sealer.seal(decoyKey, sealContext(''));

  function secureKeys(client: Client): readonly string[] {
    let keys = openedKeys.get(client);
    if (keys === undefined) {
      const context = sealContext(client.clientId);
      keys = client.sealedSecureKeys.map((sealed) => sealer.open(sealed, context));
      openedKeys.set(client, keys);
    }
    return keys;
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
      if (client === undefined) {
        matchesAnySecret(presented, [sealer.open(decoySealed, sealContext(''))]);
        return false;
      }
      const matches = matchesAnySecret(presented, secureKeys(client));
      return matches && client.enabled;
    },
    async save(client, secureKey) {
      const existing = await readCurrent(store, client.clientId);
      const active = existing === undefined ? [] : secureKeys(existing);
      const isNew = secureKey !== undefined && !active.includes(secureKey);
      const sealed = existing?.sealedSecureKeys ?? [];
      const saved: Client = {
        ...client,
        sealedSecureKeys: isNew
          ? [sealer.seal(secureKey, sealContext(client.clientId)), ...sealed].slice(
              0,
              MAXIMUM_ACTIVE_KEYS,
            )
          : sealed,
      };
      await store.set(keyOf(client.clientId), JSON.stringify(saved));
      await store.addToIndex(INDEX_KEY, client.clientId, NEVER_EXPIRES);
      cache.forget(keyOf(client.clientId));
      return saved;
    },
  };
}

async function readCurrent(store: Store, clientId: string): Promise<Client | undefined> {
  const text = await store.get(keyOf(clientId));
  return text === undefined ? undefined : (JSON.parse(text) as Client);
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** 32 characters of [A-Za-z0-9], 190 bits: the same in Basic, form, JSON and shell without any quoting. */
export function generateSecureKey(length = 32): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

/** A random identifier without meaning, 128 bits. */
export function generateId(): string {
  return randomBytes(16).toString('hex');
}
