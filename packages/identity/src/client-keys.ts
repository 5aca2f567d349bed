import type { Client } from './client.ts';
import type { CredentialHash } from './credential-hash.ts';
import { RefusedChange } from './refused-change.ts';
import type { Sealer } from './seal.ts';
import { generateSecureKey } from './secure-key.ts';

const MAXIMUM_ACTIVE_KEYS = 2;
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
}

/** What of a client's record concerns its keys. */
export type KeyMembers = Pick<Client, 'sealedSecureKeys' | 'secureKeyCreatedAt' | 'removedKeyIds'>;

/** The secureKeys in a client's record: sealed, newest first, at most two. */
export interface ClientKeys {
  /** In the clear. */
  open(client: Client): readonly string[];
  describe(client: Client): readonly SecureKeyDescription[];
  /** With the key as the newest, where it is neither active nor one that an operator removed. */
  withKey(client: Client, secureKey: string): KeyMembers;
  /** @throws RefusedChange where two are active and the oldest shall stay */
  rotate(client: Client, replaceOldest: boolean): KeyMembers & Omit<RotatedKey, 'client'>;
  /** @throws RefusedChange for a key the client does not have, and for its last one */
  remove(client: Client, keyId: string): KeyMembers;
}

/** What the registry compares with in place of the keys a client does not have. In the clear, as opened ones are. */
export const decoyKeys: readonly string[] = Array.from({ length: MAXIMUM_ACTIVE_KEYS }, () =>
  generateSecureKey(),
);

export const noKeys: KeyMembers = {
  sealedSecureKeys: [],
  secureKeyCreatedAt: {},
  removedKeyIds: [],
};

export function createClientKeys(dependencies: {
  readonly sealer: Sealer;
  readonly credentialHash: CredentialHash;
  readonly now: () => number;
}): ClientKeys {
  const { sealer, credentialHash, now } = dependencies;
  const opened = new WeakMap<Client, readonly string[]>();
  const contextOf = (client: Client) => `client:${client.clientId}:secureKey`;
  const keyIdOf = (secureKey: string) =>
    Buffer.from(credentialHash(`secure-key:${secureKey}`), 'base64url')
      .toString('hex')
      .slice(0, KEY_ID_LENGTH);

  function open(client: Client): readonly string[] {
    let keys = opened.get(client);
    if (keys === undefined) {
      const context = contextOf(client);
      keys = client.sealedSecureKeys.map((sealed) => sealer.open(sealed, context));
      opened.set(client, keys);
    }
    return keys;
  }

  function describe(client: Client): readonly SecureKeyDescription[] {
    return open(client)
      .map(keyIdOf)
      .map((keyId) => ({
        keyId,
        createdAt: client.secureKeyCreatedAt[keyId],
      }));
  }

  /** The members with this key first and as many of the others as fit. */
  function add(client: Client, secureKey: string): KeyMembers {
    const sealed = [sealer.seal(secureKey, contextOf(client)), ...client.sealedSecureKeys];
    const createdAt = { ...client.secureKeyCreatedAt, [keyIdOf(secureKey)]: now() / 1000 };
    const ids = [keyIdOf(secureKey), ...open(client).map(keyIdOf)].slice(0, MAXIMUM_ACTIVE_KEYS);
    return {
      sealedSecureKeys: sealed.slice(0, MAXIMUM_ACTIVE_KEYS),
      secureKeyCreatedAt: pick(createdAt, ids),
      removedKeyIds: client.removedKeyIds,
    };
  }

  return {
    open,
    describe,
    withKey(client, secureKey) {
      const isKnown = open(client).includes(secureKey);
      return isKnown || client.removedKeyIds.includes(keyIdOf(secureKey))
        ? client
        : add(client, secureKey);
    },
    rotate(client, replaceOldest) {
      const ids = open(client).map(keyIdOf);
      if (ids.length >= MAXIMUM_ACTIVE_KEYS && !replaceOldest) {
        throw new RefusedChange(
          `${client.clientId} has two active keys already (${ids.join(', ')}). Remove one, or ask for the oldest to be replaced.`,
        );
      }
      const secureKey = generateSecureKey();
      const pushedOut = ids.slice(MAXIMUM_ACTIVE_KEYS - 1);
      return {
        ...add({ ...client, removedKeyIds: union(client.removedKeyIds, pushedOut) }, secureKey),
        secureKey,
        keyId: keyIdOf(secureKey),
      };
    },
    remove(client, keyId) {
      const ids = open(client).map(keyIdOf);
      const kept = ids.filter((id) => id !== keyId);
      assertRemovable(client, keyId, ids);
      return {
        sealedSecureKeys: client.sealedSecureKeys.filter((_sealed, i) => ids[i] !== keyId),
        secureKeyCreatedAt: pick(client.secureKeyCreatedAt, kept),
        removedKeyIds: union(client.removedKeyIds, [keyId]),
      };
    },
  };
}

function assertRemovable({ clientId }: Client, keyId: string, ids: readonly string[]): void {
  if (!ids.includes(keyId)) {
    throw new RefusedChange(`${clientId} has no key ${keyId}. Its keys: ${ids.join(', ')}.`);
  }
  if (ids.length === 1) {
    const message = `${keyId} is the only key of ${clientId}. Rotate first, or disable the client.`;
    throw new RefusedChange(message);
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
