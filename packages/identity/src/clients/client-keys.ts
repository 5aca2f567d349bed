import type { OnDamagedRecord } from '../records/damaged-record.ts';
import { RefusedChangeError } from '../records/refused-change-error.ts';
import type { CredentialHash } from '../secrets/credential-hash.ts';
import type { Sealer } from '../secrets/seal.ts';
import { findMatchingSecret } from '../secrets/secret-comparison.ts';
import { generateSecureKey } from '../secrets/secure-key.ts';
import type { Client } from './client.ts';

export const MAXIMUM_ACTIVE_KEYS = 2;
const KEY_ID_LENGTH = 12;

/** A secureKey without itself: enough to tell two apart. */
export interface SecureKeyDescription {
  /** Twelve hexadecimal digits of the key's HMAC under the installation's pepper: no secret. */
  readonly keyId: string;
  /** Epoch seconds; undefined for a key from before this was kept. */
  readonly createdAt: number | undefined;
}

export interface RotatedKey {
  readonly client: Client;
  /** To be shown once. */
  readonly secureKey: string;
  readonly keyId: string;
  /** The key that was removed for it, if any. */
  readonly replacedKeyId: string | undefined;
}

/** What becomes of the tokens that were issued with a key that is removed: by default they are revoked. */
export interface RemovalOptions {
  readonly keepTokens?: boolean | undefined;
}

export interface RotationOptions extends RemovalOptions {
  readonly replaceOldest: boolean;
}

/** What of a client's record concerns its keys. */
export type KeyMembers = Pick<
  Client,
  'sealedSecureKeys' | 'secureKeyCreatedAt' | 'removedKeyIds' | 'keptKeyIds'
>;

/** The secureKeys in a client's record: sealed, newest first, at most two. */
export interface ClientKeys {
  /** In the clear. */
  open(client: Client): readonly string[];
  describe(client: Client): readonly SecureKeyDescription[];
  idOf(secureKey: string): string;
  /** The id of the key that equals what was presented. The same work for an unknown client. */
  identify(client: Client | undefined, presented: string): string | undefined;
  /** Whether tokens that were issued with the key are valid: it is active, or its tokens were kept. */
  isLive(client: Client, keyId: string): boolean;
  /** With the key as the newest, where it is neither active nor one that an operator removed. */
  withKey(client: Client, secureKey: string, options: RemovalOptions): KeyMembers;
  /** @throws RefusedChangeError where two are active and the oldest shall stay */
  rotate(client: Client, options: RotationOptions): KeyMembers & Omit<RotatedKey, 'client'>;
  /** @throws RefusedChangeError for a key the client does not have, and for its last one */
  remove(client: Client, keyId: string, options: RemovalOptions): KeyMembers;
}

/** Compared in place of the keys that a client does not have. In the clear, as opened ones are. */
const decoyKeys: readonly string[] = Array.from({ length: MAXIMUM_ACTIVE_KEYS }, () =>
  generateSecureKey(),
);

export const noKeys: KeyMembers = {
  sealedSecureKeys: [],
  secureKeyCreatedAt: {},
  removedKeyIds: [],
  keptKeyIds: [],
};

/** In the same order. A key that does not open is in none of them: it verifies nothing. */
interface OpenedKeys {
  readonly sealed: readonly string[];
  readonly secureKeys: readonly string[];
  readonly ids: readonly string[];
}

const damagedKeyAdvice =
  'Find the client: gatehouse clients list shows fewer keys than it had. Give it a new one with gatehouse clients rotate-key.';

/** Opens the keys of a record once: a record that has not changed is the same object. */
function createKeyOpener(
  sealer: Sealer,
  idOf: ClientKeys['idOf'],
  onDamagedRecord: OnDamagedRecord | undefined,
) {
  const opened = new WeakMap<Client, OpenedKeys>();
  return (client: Client): OpenedKeys => {
    let keys = opened.get(client);
    if (keys === undefined) {
      const context = contextOf(client);
      const found = client.sealedSecureKeys.flatMap((sealed) => {
        try {
          return [{ sealed, secureKey: sealer.open(sealed, context) }];
        } catch {
          onDamagedRecord?.('secure key', damagedKeyAdvice);
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

const contextOf = (client: Client) => `client:${client.clientId}:secureKey`;

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
      // Most keys are found without opening any. Those of old records have no time.
      Object.hasOwn(client.secureKeyCreatedAt, keyId) ||
      client.keptKeyIds.includes(keyId) ||
      openKeys(client).ids.includes(keyId),
    ...{ withKey, rotate, remove },
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

  /** The members with this key first and as many of the others as fit. */
  function add(client: Client, secureKey: string, { keepTokens }: RemovalOptions): KeyMembers {
    const sealed = [sealer.seal(secureKey, contextOf(client)), ...openKeys(client).sealed];
    const createdAt = { ...client.secureKeyCreatedAt, [idOf(secureKey)]: now() / 1000 };
    const ids = [idOf(secureKey), ...openKeys(client).ids];
    const active = ids.slice(0, MAXIMUM_ACTIVE_KEYS);
    const pushedOut = ids.slice(MAXIMUM_ACTIVE_KEYS);
    const kept = client.keptKeyIds.filter((id) => !ids.includes(id));
    return {
      sealedSecureKeys: sealed.slice(0, MAXIMUM_ACTIVE_KEYS),
      secureKeyCreatedAt: pick(createdAt, active),
      removedKeyIds: client.removedKeyIds,
      keptKeyIds: keepTokens === true ? [...kept, ...pushedOut] : kept,
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
        throw new RefusedChangeError(
          `${client.clientId} has two active keys already (${ids.join(', ')}). Remove one, or ask for the oldest to be replaced.`,
        );
      }
      const secureKey = generateSecureKey();
      const [replacedKeyId] = ids.slice(MAXIMUM_ACTIVE_KEYS - 1);
      const pushedOut = replacedKeyId === undefined ? [] : [replacedKeyId];
      const removedKeyIds = union(client.removedKeyIds, pushedOut);
      return {
        ...add({ ...client, removedKeyIds }, secureKey, options),
        ...{ secureKey, keyId: idOf(secureKey), replacedKeyId },
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
    throw new RefusedChangeError(`${clientId} has no key ${keyId}. Its keys: ${ids.join(', ')}.`);
  }
  if (ids.length === 1) {
    const message = `${keyId} is the only key of ${clientId}. Rotate first, or disable the client.`;
    throw new RefusedChangeError(message);
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
