import type { OnDamagedRecord } from '../records/damaged-record.ts';
import { RejectedChangeError } from '../records/rejected-change-error.ts';
import type { CredentialHash } from '../secrets/credential-hash.ts';
import type { Sealer } from '../secrets/seal.ts';
import { findMatchingSecret } from '../secrets/secret-comparison.ts';
import { generateSecureKey } from '../secrets/secure-key.ts';
import type { Client } from './client.ts';
import { createKeyOpener, type OpenedKeys, secureKeyContext } from './key-opener.ts';

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
  'sealedSecureKeys' | 'secureKeyCreatedAt' | 'removedKeyIds' | 'keptKeyIds'
>;

/** The secure keys of clients: encrypted, newest first, at most two. */
export interface ClientKeys {
  /** Decrypts the keys. */
  open(client: Client): readonly string[];
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
  const { withKey, rotate, remove } = createKeyChanges({ sealer, now, idOf, openKeys });

  return {
    open: (client) => openKeys(client).secureKeys,
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
}): Pick<ClientKeys, 'withKey' | 'rotate' | 'remove'> {
  const { sealer, now, idOf, openKeys } = dependencies;

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
      const { sealed, ids } = openKeys(client);
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
