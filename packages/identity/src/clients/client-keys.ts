import { z } from 'zod';
import type { LastUse } from '../records/last-use.ts';
import {
  memoized,
  type OnDamagedRecord,
  parseRecord,
  RejectedChangeError,
} from '../records/record.ts';
import type { Sealer, SecretDependencies } from '../secrets/seal.ts';
import { findMatchingSecret, generateSecureKey } from '../secrets/secure-keys.ts';
import { type Client, type ClientKey, storedClient } from './client.ts';
import { hasPublicKeys, publicKeyIds, withoutPublicKey } from './public-keys.ts';

const MAXIMUM_ACTIVE_KEYS = 2;
const KEY_ID_LENGTH = 12;

/** Removing a key revokes the tokens that were issued with it, unless `keepTokens` is set. */
export interface RemovalOptions {
  readonly keepTokens?: boolean | undefined;
}

/** Has no keys. */
const NOBODY = { clientId: '', keys: [] };

/** The store key of a client's record. */
export const clientRecordKey = (clientId: string): string => `client:${clientId}`;
export const secureKeyContext = ({ clientId }: Pick<Client, 'clientId'>): string =>
  `client:${clientId}:secureKey`;

/** Replace the keys that a client does not have, so that each comparison takes the same time. */
const decoyKeys: readonly string[] = Array.from({ length: MAXIMUM_ACTIVE_KEYS }, () =>
  generateSecureKey(),
);

/** The secure keys of clients: encrypted, newest first, at most two active. */
export function createClientKeys(
  dependencies: SecretDependencies & { readonly lastUse: Pick<LastUse, 'noteKey'> },
) {
  const { sealer, credentialHash, onDamagedRecord, lastUse, now } = dependencies;
  /** Twelve hexadecimal digits of an HMAC, which identify a key. Not a secret. */
  const idOf = (secureKey: string) =>
    Buffer.from(credentialHash(`secure-key:${secureKey}`), 'base64url')
      .toString('hex')
      .slice(0, KEY_ID_LENGTH);
  const open = createKeyOpener(sealer, onDamagedRecord);

  /** Without active keys that cannot be decrypted. */
  function intactKeys(client: Client): readonly ClientKey[] {
    const opened = open(client).keys;
    return client.keys.filter((key) => key.state !== 'active' || opened.includes(key));
  }

  /** Puts this key first, and the oldest active key over the maximum into another state. */
  function add(client: Client, secureKey: string, replaced?: ClientKey['state']) {
    const id = idOf(secureKey);
    const sealed = sealer.seal(secureKey, secureKeyContext(client));
    const others = intactKeys(client).filter((key) => key.id !== id);
    const tooMany = others.filter(isActive).slice(MAXIMUM_ACTIVE_KEYS - 1);
    const kept = others.flatMap((key) => {
      const ended = replaced === undefined ? [] : [inactive(key, replaced)];
      return tooMany.includes(key) ? ended : [key];
    });
    const createdAt = Math.floor(now() / 1000);
    return [{ id, sealed, createdAt, state: 'active' } as const, ...kept];
  }

  return {
    secureKeyId: idOf,
    parse: (text: string) => parseClient(text, sealer, idOf),
    decoyKeys,
    /** The decrypted active keys, newest first, to verify request signatures. */
    secureKeys: (client: Client) => open(client).secrets,
    /** Ids and ages of the active keys, newest first. */
    describeKeys: (client: Client) =>
      open(client).keys.map(({ id, createdAt }) => ({ keyId: id, createdAt })),
    /**
     * The id of the key that equals the presented secret. Issued tokens contain this id. The time reveals neither the key nor
     * whether there is an enabled client. A client with public keys has no secret: its secure key
     * only signs requests.
     */
    identifySecret(client: Client | undefined, presented: string): string | undefined {
      const { keys, secrets } = open(client ?? NOBODY);
      const found = findMatchingSecret(presented, secrets);
      findMatchingSecret(presented, decoyKeys.slice(secrets.length));
      const keyId =
        client?.enabled === true && !hasPublicKeys(client) ? keys[found]?.id : undefined;
      return client && lastUse.noteKey(client.clientId, keyId);
    },
    /** With the key as the newest, unless it is active or an operator removed it. */
    withKey(client: Client, secureKey: string, { keepTokens }: RemovalOptions) {
      const id = idOf(secureKey);
      const isKnown = intactKeys(client).some((key) => key.id === id && key.state !== 'replaced');
      return isKnown
        ? client.keys
        : add(client, secureKey, keepTokens === true ? 'replaced' : undefined);
    },
    /** @throws RejectedChangeError if two keys are active and `replaceOldest` is not set */
    rotate(client: Client, options: RemovalOptions & { readonly replaceOldest: boolean }) {
      const ids = open(client).keys.map(({ id }) => id);
      if (ids.length >= MAXIMUM_ACTIVE_KEYS && !options.replaceOldest) {
        throw new RejectedChangeError(
          `${client.clientId} already has two active keys (${ids.join(', ')}). Remove one, or replace the oldest.`,
        );
      }
      const secureKey = generateSecureKey();
      const keys = add(client, secureKey, removedState(options));
      const replacedKeyId = ids[MAXIMUM_ACTIVE_KEYS - 1];
      return { keys, secureKey, keyId: idOf(secureKey), replacedKeyId };
    },
    /** @throws RejectedChangeError if the client does not have the key, or has no other key */
    remove(client: Client, keyId: string, options: RemovalOptions): Client {
      const keys = intactKeys(client);
      const hasKept = keys.some((key) => key.id === keyId && isKept(key));
      if (!hasKept || options.keepTokens === true) {
        assertRemovable(client, keyId, keys);
      }
      if (publicKeyIds(client).includes(keyId)) {
        return { ...client, ...withoutPublicKey(client, keyId, options) };
      }
      const state = removedState(options);
      return {
        ...client,
        keys: keys.map((key) => (key.id === keyId ? inactive(key, state) : key)),
      };
    },
  };
}

/** The keys of a client that becomes public. */
export const keysOfPublicClient = (keys: readonly ClientKey[]): readonly ClientKey[] =>
  keys
    .filter(({ state }) => state === 'retired' || state === 'removed')
    .map((key) => inactive(key, 'removed'));

export const isActive = ({ state }: ClientKey): boolean => state === 'active';
/** It is no longer active, but its tokens stay valid until they expire. */
export const isKept = ({ state }: ClientKey): boolean =>
  state === 'replaced' || state === 'retired';

/** The ids of the active secure keys and the public keys. */
export const activeKeyIds = (client: Client, keys = client.keys): readonly string[] => [
  ...keys.filter(isActive).map(({ id }) => id),
  ...publicKeyIds(client),
];

const removedState = ({ keepTokens }: RemovalOptions) =>
  keepTokens === true ? 'retired' : 'removed';

function inactive({ id, createdAt }: ClientKey, state: ClientKey['state']): ClientKey {
  return { id, createdAt, state };
}

function assertRemovable(client: Client, keyId: string, keys: readonly ClientKey[]): void {
  const { clientId } = client;
  const ids = activeKeyIds(client, keys);
  if (!ids.includes(keyId)) {
    throw new RejectedChangeError(`${clientId} has no key ${keyId}. Its keys: ${ids.join(', ')}.`);
  }
  if (ids.length === 1) {
    const message = `${keyId} is the only key of ${clientId}. Rotate first, or disable the client.`;
    throw new RejectedChangeError(message);
  }
}

/**
 * Returns the active keys of a client and, in the same order, their decrypted values. It decrypts
 * those of a record once. An unchanged record is the same object.
 */
function createKeyOpener(sealer: Sealer, onDamagedRecord: OnDamagedRecord | undefined) {
  return memoized((client: Pick<Client, 'clientId' | 'keys'>) => {
    const keys: ClientKey[] = [];
    const secrets: string[] = [];
    for (const key of client.keys.filter(isActive)) {
      const secret = sealer.tryOpen(key.sealed ?? '', secureKeyContext(client));
      if (secret !== undefined) {
        secrets.push(secret);
        keys.push(key);
      } else {
        onDamagedRecord?.(
          'secure key',
          clientRecordKey(client.clientId),
          `Generate a new key: gatehouse clients rotate-key ${client.clientId}`,
        );
      }
    }
    return { keys, secrets };
  });
}

/** The members in which the previous release stores the keys. */
const formerKeys = z.object({
  clientId: z.string(),
  sealedSecureKeys: z.array(z.string()),
  secureKeyCreatedAt: z.record(z.string(), z.number()).default({}),
  removedKeyIds: z.array(z.string()).default([]),
  keptKeyIds: z.array(z.string()).default([]),
});

/** Also reads a record of the previous release. Returns undefined if the record is damaged. */
function parseClient(
  text: string,
  sealer: Sealer,
  idOf: (secureKey: string) => string,
): Client | undefined {
  const client = parseRecord(storedClient, text);
  const former = client === undefined ? parseRecord(formerKeys, text) : undefined;
  if (former === undefined) {
    return client;
  }
  const { sealedSecureKeys, secureKeyCreatedAt, removedKeyIds, keptKeyIds } = former;
  const active = sealedSecureKeys.map((sealed): ClientKey => {
    const secret = sealer.tryOpen(sealed, secureKeyContext(former));
    // A damaged key is reported when it is used.
    const id = secret === undefined ? '' : idOf(secret);
    return { id, sealed, createdAt: secureKeyCreatedAt[id], state: 'active' };
  });
  const others = [...new Set([...keptKeyIds, ...removedKeyIds])]
    .filter((id) => active.every((key) => key.id !== id))
    .map((id): ClientKey => {
      const kept = removedKeyIds.includes(id) ? 'retired' : 'replaced';
      return { id, state: keptKeyIds.includes(id) ? kept : 'removed' };
    });
  return parseRecord(
    storedClient,
    JSON.stringify({ ...JSON.parse(text), keys: [...active, ...others] }),
  );
}

/** The record, also with the members of the previous release, because both can run at once. */
export function formatClient(client: Client): string {
  const { keys } = client;
  const idsOf = (...states: readonly ClientKey['state'][]) =>
    keys.filter(({ state }) => states.includes(state)).map(({ id }) => id);
  const active = keys.filter(isActive);
  const former: Omit<z.infer<typeof formerKeys>, 'clientId'> = {
    sealedSecureKeys: active.map(({ sealed = '' }) => sealed),
    secureKeyCreatedAt: Object.fromEntries(
      active.flatMap(({ id, createdAt }) => (createdAt === undefined ? [] : [[id, createdAt]])),
    ),
    removedKeyIds: idsOf('retired', 'removed'),
    keptKeyIds: idsOf('replaced', 'retired'),
  };
  return JSON.stringify({ ...client, ...former });
}
