import { type OnDamagedRecord, RejectedChangeError } from '../records/record.ts';
import type { Sealer } from '../secrets/seal.ts';
import { findMatchingSecret, generateSecureKey } from '../secrets/secure-keys.ts';
import type { CredentialHash } from '../tokens/credential-keys.ts';
import { type Client, clientKey, type RemovedKey } from './client.ts';

export const MAXIMUM_ACTIVE_KEYS = 2;
const KEY_ID_LENGTH = 12;

/** Identifies a secure key without revealing it. */
export interface SecureKeyDescription {
  /** Twelve hexadecimal digits of an HMAC of the key. Not a secret. */
  readonly keyId: string;
  /** Epoch seconds. Undefined for keys of early versions. */
  readonly createdAt: number | undefined;
}

export interface RotatedKey {
  readonly client: Client;
  /** Shown only once. */
  readonly secureKey: string;
  readonly keyId: string;
  /** The id of the key that was removed, if any. */
  readonly replacedKeyId: string | undefined;
}

/** Removing a key revokes the tokens that were issued with it, unless `keepTokens` is set. */
export interface RemovalOptions {
  readonly keepTokens?: boolean | undefined;
}

export interface RotationOptions extends RemovalOptions {
  readonly replaceOldest: boolean;
}

/** The members of a client that describe its keys. */
export type KeyMembers = Pick<
  Client,
  'sealedSecureKeys' | 'secureKeyCreatedAt' | 'removedKeyIds' | 'keptKeyIds' | 'removedKeys'
>;

/** The secure keys of clients: encrypted, newest first, at most two. */
export interface ClientKeys {
  /** Decrypts the keys. */
  open(client: Client): readonly string[];
  /** Decrypts the keys that the client lost in the last 30 days. They are never accepted. */
  openRemoved(client: Client): readonly string[];
  describe(client: Client): readonly SecureKeyDescription[];
  idOf(secureKey: string): string;
  /** The id of the key that equals the presented secret. An unknown client takes the same time. */
  identify(client: Client | undefined, presented: string): string | undefined;
  /** Whether the key is active or its tokens were kept. */
  isLive(client: Client, keyId: string): boolean;
  /** Adds the key as the newest, unless it is active or an operator removed it. */
  withKey(client: Client, secureKey: string, options: RemovalOptions): KeyMembers;
  /** @throws RejectedChangeError if two keys are active and `replaceOldest` is not set */
  rotate(client: Client, options: RotationOptions): KeyMembers & Omit<RotatedKey, 'client'>;
  /** @throws RejectedChangeError if the client does not have the key, or has no other key */
  remove(client: Client, keyId: string, options: RemovalOptions): KeyMembers;
}

/** Replace the keys that a client does not have, so that each comparison takes the same time. */
const decoyKeys: readonly string[] = Array.from({ length: MAXIMUM_ACTIVE_KEYS }, () =>
  generateSecureKey(),
);

export const noKeys: KeyMembers = {
  sealedSecureKeys: [],
  secureKeyCreatedAt: {},
  removedKeyIds: [],
  keptKeyIds: [],
  removedKeys: [],
};

export function createClientKeys(dependencies: {
  readonly sealer: Sealer;
  readonly credentialHash: CredentialHash;
  readonly onDamagedRecord?: OnDamagedRecord | undefined;
  readonly now: () => number;
}): ClientKeys {
  const { sealer, credentialHash, now } = dependencies;
  const idOf = (secureKey: string) =>
    Buffer.from(credentialHash(`secure-key:${secureKey}`), 'base64url')
      .toString('hex')
      .slice(0, KEY_ID_LENGTH);
  const openKeys = createKeyOpener(sealer, idOf, dependencies.onDamagedRecord);
  const removed = createRemovedKeys({ sealer, now });
  const { withKey, rotate, remove } = createKeyChanges({ sealer, now, idOf, openKeys, removed });

  return {
    open: (client) => openKeys(client).secureKeys,
    openRemoved: removed.open,
    describe: (client) =>
      openKeys(client).ids.map((keyId) => ({
        keyId,
        createdAt: client.secureKeyCreatedAt[keyId],
      })),
    idOf,
    identify(client, presented) {
      const { secureKeys, ids } = client === undefined ? noOpenedKeys : openKeys(client);
      const found = findMatchingSecret(presented, secureKeys);
      findMatchingSecret(presented, decoyKeys.slice(secureKeys.length));
      return ids[found];
    },
    isLive: (client, keyId) =>
      // Most keys have a creation time and are found without decryption.
      Object.hasOwn(client.secureKeyCreatedAt, keyId) ||
      client.keptKeyIds.includes(keyId) ||
      openKeys(client).ids.includes(keyId),
    withKey,
    rotate,
    remove,
  };
}

const noOpenedKeys: OpenedKeys = { sealed: [], secureKeys: [], ids: [] };

function createKeyChanges(dependencies: {
  readonly sealer: Sealer;
  readonly now: () => number;
  readonly idOf: ClientKeys['idOf'];
  readonly openKeys: (client: Client) => OpenedKeys;
  readonly removed: RemovedKeys;
}): Pick<ClientKeys, 'withKey' | 'rotate' | 'remove'> {
  const { sealer, now, idOf, openKeys, removed } = dependencies;

  /** Puts this key first and drops keys over the maximum. */
  function add(client: Client, secureKey: string, { keepTokens }: RemovalOptions): KeyMembers {
    const sealed = [sealer.seal(secureKey, secureKeyContext(client)), ...openKeys(client).sealed];
    const createdAt = { ...client.secureKeyCreatedAt, [idOf(secureKey)]: now() / 1000 };
    const ids = [idOf(secureKey), ...openKeys(client).ids];
    const active = ids.slice(0, MAXIMUM_ACTIVE_KEYS);
    const replaced = ids.slice(MAXIMUM_ACTIVE_KEYS);
    const kept = client.keptKeyIds.filter((id) => !ids.includes(id));
    return {
      sealedSecureKeys: sealed.slice(0, MAXIMUM_ACTIVE_KEYS),
      secureKeyCreatedAt: pick(createdAt, active),
      removedKeyIds: client.removedKeyIds,
      keptKeyIds: keepTokens === true ? [...kept, ...replaced] : kept,
      ...removed.add(client, openKeys(client).secureKeys.slice(MAXIMUM_ACTIVE_KEYS - 1)),
    };
  }

  return {
    withKey(client, secureKey, options) {
      const keyId = idOf(secureKey);
      return openKeys(client).ids.includes(keyId) || client.removedKeyIds.includes(keyId)
        ? client
        : add(client, secureKey, options);
    },
    rotate(client, { replaceOldest, ...options }) {
      const { ids } = openKeys(client);
      if (ids.length >= MAXIMUM_ACTIVE_KEYS && !replaceOldest) {
        throw new RejectedChangeError(
          `${client.clientId} already has two active keys (${ids.join(', ')}). Remove one, or replace the oldest.`,
        );
      }
      const secureKey = generateSecureKey();
      const [replacedKeyId] = ids.slice(MAXIMUM_ACTIVE_KEYS - 1);
      const replaced = replacedKeyId === undefined ? [] : [replacedKeyId];
      const removedKeyIds = union(client.removedKeyIds, replaced);
      return {
        ...add({ ...client, removedKeyIds }, secureKey, options),
        secureKey,
        keyId: idOf(secureKey),
        replacedKeyId,
      };
    },
    remove(client, keyId, { keepTokens }) {
      const { sealed, secureKeys, ids } = openKeys(client);
      const others = client.keptKeyIds.filter((id) => id !== keyId);
      if (client.keptKeyIds.includes(keyId) && !ids.includes(keyId) && keepTokens !== true) {
        return { ...client, keptKeyIds: others };
      }
      assertRemovable(client, keyId, ids);
      return {
        sealedSecureKeys: sealed.filter((_sealed, i) => ids[i] !== keyId),
        secureKeyCreatedAt: pick(
          client.secureKeyCreatedAt,
          ids.filter((id) => id !== keyId),
        ),
        removedKeyIds: union(client.removedKeyIds, [keyId]),
        keptKeyIds: keepTokens === true ? [...others, keyId] : others,
        ...removed.add(
          client,
          secureKeys.filter((_key, i) => ids[i] === keyId),
        ),
      };
    },
  };
}

function assertRemovable({ clientId }: Client, keyId: string, ids: readonly string[]): void {
  if (!ids.includes(keyId)) {
    throw new RejectedChangeError(`${clientId} has no key ${keyId}. Its keys: ${ids.join(', ')}.`);
  }
  if (ids.length === 1) {
    const message = `${keyId} is the only key of ${clientId}. Rotate first, or disable the client.`;
    throw new RejectedChangeError(message);
  }
}

function pick(createdAt: Readonly<Record<string, number>>, ids: readonly string[]) {
  return Object.fromEntries(
    Object.entries(createdAt)
      .filter(([id]) => ids.includes(id))
      .map(([id, seconds]) => [id, Math.floor(seconds)]),
  );
}

function union(some: readonly string[], more: readonly string[]): readonly string[] {
  return [...new Set([...some, ...more])];
}

/** Lists in the same order. Keys that cannot be decrypted are omitted. */
export interface OpenedKeys {
  readonly sealed: readonly string[];
  readonly secureKeys: readonly string[];
  readonly ids: readonly string[];
}

/** Decrypts the keys of a record once. An unchanged record is the same object. */
export function createKeyOpener(
  sealer: Sealer,
  idOf: (secureKey: string) => string,
  onDamagedRecord: OnDamagedRecord | undefined,
) {
  const opened = new WeakMap<Client, OpenedKeys>();
  return (client: Client): OpenedKeys => {
    let keys = opened.get(client);
    if (keys === undefined) {
      const context = secureKeyContext(client);
      const found = client.sealedSecureKeys.flatMap((sealed) => {
        try {
          return [{ sealed, secureKey: sealer.open(sealed, context) }];
        } catch {
          onDamagedRecord?.(
            'secure key',
            clientKey(client.clientId),
            `Generate a new key: gatehouse clients rotate-key ${client.clientId}`,
          );
          return [];
        }
      });
      const secureKeys = found.map(({ secureKey }) => secureKey);
      keys = { sealed: found.map(({ sealed }) => sealed), secureKeys, ids: secureKeys.map(idOf) };
      opened.set(client, keys);
    }
    return keys;
  };
}

export const secureKeyContext = ({ clientId }: Pick<Client, 'clientId'>): string =>
  `client:${clientId}:secureKey`;

const DAY = 24 * 60 * 60;
const MAXIMUM_REMOVED_KEYS = 2;
const RETENTION_SECONDS: number = 30 * DAY;

export const removedKeyContext = ({ clientId }: Pick<Client, 'clientId'>): string =>
  `client:${clientId}:removedSecureKey`;

/** The keys that a client lost in the last 30 days: encrypted, newest first, at most two. */
export interface RemovedKeys {
  /** Decrypts the keys. A damaged key is omitted: only an explanation is lost. */
  open(client: Client): readonly string[];
  /** The members of the client after it lost these keys. */
  add(client: Client, secureKeys: readonly string[]): Pick<Client, 'removedKeys'>;
}

export function createRemovedKeys({
  sealer,
  now,
}: {
  readonly sealer: Sealer;
  /** Epoch milliseconds. */
  readonly now: () => number;
}): RemovedKeys {
  const opened = new WeakMap<RemovedKey, string | undefined>();
  const isKept = ({ removedAt }: RemovedKey) => now() / 1000 < removedAt + RETENTION_SECONDS;

  function open(client: Client, key: RemovedKey): string | undefined {
    if (!opened.has(key)) {
      opened.set(
        key,
        attempt(() => sealer.open(key.sealed, removedKeyContext(client))),
      );
    }
    return opened.get(key);
  }

  return {
    open: (client) =>
      client.removedKeys
        .filter(isKept)
        .map((key) => open(client, key))
        .filter((key) => key !== undefined),
    add(client, secureKeys) {
      const removedAt = Math.floor(now() / 1000);
      const added = secureKeys.map((key) => ({
        sealed: sealer.seal(key, removedKeyContext(client)),
        removedAt,
      }));
      const kept = client.removedKeys.filter(isKept);
      return { removedKeys: [...added, ...kept].slice(0, MAXIMUM_REMOVED_KEYS) };
    },
  };
}

function attempt(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
