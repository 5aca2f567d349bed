/**
 * Replaces the master key while the servers run.
 *
 *   add     file: old + next      optional, to distribute the key to other hosts first
 *   rotate  file: new + previous  all records are encrypted again; can be interrupted and repeated
 *   retire  file: new             refused while a record needs the previous key
 */

import type { Store } from '@gatehouse/store';
import { z } from 'zod';
import { clientKey } from '../clients/client.ts';
import { removedKeyContext, secureKeyContext } from '../clients/client-keys.ts';
import type { ClientRegistry } from '../clients/clients.ts';
import type { Identity } from '../open-identity.ts';
import { parseRecord, RejectedChangeError } from '../records/record.ts';
import { withRecordLock } from '../records/record-lock.ts';
import { type CredentialHash, sessionUidKey, userSessionsKey } from '../tokens/credential-keys.ts';
import type { UserRegistry } from '../users/user.ts';
import { type LastingKeys, lastingKeyOf, type MasterKeys, masterKeyId } from './master-key.ts';
import { CANARY_KEY } from './master-key-check.ts';
import {
  generateMasterKey,
  type MasterKeyFile,
  readMasterKeyFile,
  writeMasterKeyFile,
} from './master-key-file.ts';
import { createSealer, type Sealer } from './seal.ts';
import { signingKeyRecord } from './signing-keys.ts';

export interface MasterKeyRotation {
  /** Adds a random key that decrypts only, until the next rotation. Returns its id. */
  add(): Promise<string>;
  /**
   * Starts a rotation, or continues an interrupted one with its key, and encrypts every record with
   * the first key of the file.
   *
   * @throws RejectedChangeError if the last rotation only waits for `retire`
   */
  rotate(): Promise<{
    readonly keyId: string;
    /** Whether the key was replaced. False if an interrupted rotation was continued. */
    readonly isNewKey: boolean;
    readonly changedRecords: number;
  }>;
  check(): Promise<MasterKeyUse>;
  /** @throws RejectedChangeError while something needs the previous key */
  retire(): Promise<{ readonly keyId: string }>;
}

export interface MasterKeyUse {
  readonly keyId: string;
  readonly nextKeyId: string | undefined;
  readonly previousKeyId: string | undefined;
  /** Records that only the previous key decrypts, by kind. */
  readonly needPrevious: Readonly<Record<string, number>>;
  /** Records that no key decrypts. A rotation does not change them. */
  readonly damaged: Readonly<Record<string, number>>;
  /** Epoch milliseconds at which the last short-lived record of the previous key expires. */
  readonly retirableAt: number | undefined;
}

/** Servers read the file again after a second, and finish the write that they have started. */
const SETTLE_MILLISECONDS = 3_000;
const SWITCHED_KEY = 'master-key-switched-at';
const LOCK = 'master-key';

export function createMasterKeyRotation(dependencies: {
  readonly identity: Identity;
  readonly masterKey: MasterKeys;
  readonly path: string;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}): MasterKeyRotation {
  const { identity, masterKey, path, wait, now } = dependencies;
  const { store } = identity;

  /** One command at a time, so that no generated key is lost. */
  function changeFile(
    change: (file: MasterKeyFile) => MasterKeyFile,
  ): Promise<{ readonly file: MasterKeyFile; readonly isChanged: boolean }> {
    return withRecordLock(store, LOCK, async (assertHeld) => {
      const before = readMasterKeyFile(path);
      const after = change(before);
      assertHeld();
      if (after !== before) {
        writeMasterKeyFile(path, after);
        masterKey.refresh();
      }
      return { file: after, isChanged: after !== before };
    });
  }

  const check = () => readUse(identity, path);

  return {
    check,
    async add() {
      const { file } = await changeFile((file) => {
        if (file.next !== undefined || file.previous !== undefined) {
          throw new RejectedChangeError('The file already has a second key.');
        }
        return { ...file, next: generateMasterKey(), lasting: keepLasting(file) };
      });
      return masterKeyId(file.next ?? fail());
    },
    async rotate() {
      const { file, isChanged } = await changeFile((file) =>
        file.previous === undefined
          ? {
              current: file.next ?? generateMasterKey(),
              previous: file.current,
              lasting: keepLasting(file),
            }
          : file,
      );
      if (!isChanged && isEncryptedAgain(await check())) {
        throw new RejectedChangeError(
          'No new key: the last rotation is not finished. Run gatehouse master-key retire first.',
        );
      }
      await store.set(SWITCHED_KEY, String(now()));
      await wait(SETTLE_MILLISECONDS);
      const changedRecords = await resealAll(
        identity,
        createReaders(file.current, identity.sealer),
      );
      return { keyId: masterKeyId(file.current), isNewKey: isChanged, changedRecords };
    },
    async retire() {
      const use = await check();
      assertRetirable(use, now());
      await changeFile((file) => {
        assertUnchanged(file, use);
        return { current: file.current, lasting: file.lasting };
      });
      return { keyId: use.keyId };
    },
  };
}

async function readUse(identity: Identity, path: string): Promise<MasterKeyUse> {
  const { current, next, previous } = readMasterKeyFile(path);
  const isReadable = createReaders(current, identity.sealer);
  const needPrevious: Record<string, number> = {};
  const damaged: Record<string, number> = {};
  for await (const record of sealedRecords(identity)) {
    const text = await identity.store.get(record.key);
    const use = text === undefined ? 'current' : useOf(record, text, isReadable);
    if (use !== 'current') {
      const counts = use === 'previous' ? needPrevious : damaged;
      counts[record.kind] = (counts[record.kind] ?? 0) + 1;
    }
  }
  const switchedAt = Number(await identity.store.get(SWITCHED_KEY));
  return {
    keyId: masterKeyId(current),
    nextKeyId: next && masterKeyId(next),
    previousKeyId: previous && masterKeyId(previous),
    needPrevious,
    damaged,
    retirableAt: previous && switchedAt + LONGEST_UNLISTED_SECONDS * 1000,
  };
}

function keepLasting(file: MasterKeyFile): LastingKeys {
  return {
    'credential-pepper': lastingKeyOf(file, 'credential-pepper'),
    'refresh-successor': lastingKeyOf(file, 'refresh-successor'),
  };
}

/** Without the time, `retire` asks for another `rotate`, for example after a restored backup. */
function isEncryptedAgain({ needPrevious, retirableAt }: MasterKeyUse): boolean {
  return Object.keys(needPrevious).length === 0 && !Number.isNaN(retirableAt);
}

function assertRetirable(use: MasterKeyUse, now: number): void {
  if (use.previousKeyId === undefined) {
    throw new RejectedChangeError('The file has no previous key.');
  }
  const needed = Object.entries(use.needPrevious).map(([kind, count]) => `${kind}: ${count}`);
  if (needed.length > 0) {
    throw new RejectedChangeError(
      `Records need the previous key (${needed.join(', ')}). Run gatehouse master-key rotate again.`,
    );
  }
  const minutes = Math.ceil(((use.retirableAt ?? Number.NaN) - now) / 60_000);
  if (!(minutes <= 0)) {
    throw new RejectedChangeError(
      Number.isNaN(minutes)
        ? 'The rotation was not completed. Run gatehouse master-key rotate again.'
        : `Sign-ins that started before the rotation need the previous key for ${minutes} more minutes.`,
    );
  }
}

/** Another command can have started a rotation after the check. Its records need these keys. */
function assertUnchanged({ current, previous }: MasterKeyFile, use: MasterKeyUse): void {
  const previousKeyId = previous && masterKeyId(previous);
  if (masterKeyId(current) !== use.keyId || previousKeyId !== use.previousKeyId) {
    throw new RejectedChangeError('Another command changed the key file. Run the command again.');
  }
}

function fail(): never {
  throw new Error('The key file was not changed.');
}

/** Servers on other hosts, which still have the old file, can undo part of a pass. */
const MAXIMUM_PASSES = 5;

export interface Readers {
  readonly current: Sealer;
  readonly any: Sealer;
}

export function createReaders(current: Buffer, any: Sealer): Readers {
  return { current: createSealer(current), any };
}

/** @returns the number of changed records */
export async function resealAll(identity: Identity, readers: Readers): Promise<number> {
  let total = 0;
  for (let pass = 0; pass < MAXIMUM_PASSES; pass += 1) {
    let changed = 0;
    for await (const record of sealedRecords(identity)) {
      changed += (await reseal(identity.store, record, readers)) ? 1 : 0;
    }
    total += changed;
    if (changed === 0) {
      return total;
    }
  }
  throw new RejectedChangeError(
    'A server still encrypts with the previous key. Copy the key file to every host, then repeat the command.',
  );
}

/**
 * Clients and signing keys change under their lock, because a change that started earlier would
 * write the old text back. Sessions have no lock. If one changes meanwhile, the next pass repeats it.
 */
async function reseal(store: Store, record: SealedRecord, readers: Readers): Promise<boolean> {
  const read = async () => {
    const text = await store.get(record.key);
    return text !== undefined && useOf(record, text, readers) === 'previous' ? text : undefined;
  };
  const write = async (assertHeld: () => void) => {
    const text = await read();
    if (text === undefined) {
      return false;
    }
    assertHeld();
    await store.replace(record.key, text, resealText(record, text, readers));
    return true;
  };
  if ((await read()) === undefined) {
    return false;
  }
  return record.kind === 'client' || record.kind === 'signing key'
    ? withRecordLock(store, record.key, write)
    : write(() => undefined);
}

function resealText(record: SealedRecord, text: string, { current, any }: Readers): string {
  return record.map(text, (sealed, context) =>
    opens(current, sealed, context) || !opens(any, sealed, context)
      ? sealed
      : current.seal(any.open(sealed, context), context),
  );
}

/** Which key of the file the record needs. */
export function useOf(
  record: SealedRecord,
  text: string,
  { current, any }: Readers,
): 'current' | 'previous' | 'damaged' {
  let use: 'current' | 'previous' | 'damaged' = 'current';
  record.map(text, (sealed, context) => {
    if (!opens(current, sealed, context)) {
      use = opens(any, sealed, context) ? 'previous' : use === 'current' ? 'damaged' : use;
    }
    return sealed;
  });
  return use;
}

function opens(sealer: Sealer, sealed: string, context: string): boolean {
  try {
    sealer.open(sealed, context);
    return true;
  } catch {
    return false;
  }
}

/** A record with encrypted text, as rotation sees it. */
export interface SealedRecord {
  readonly key: string;
  readonly kind: 'canary' | 'signing key' | 'client' | 'session';
  /** The record with every encrypted text replaced. */
  map(text: string, replace: (sealed: string, context: string) => string): string;
}

/** Members of later versions are kept. */
const sealedClient = z.looseObject({
  sealedSecureKeys: z.array(z.string()),
  removedKeys: z.array(z.looseObject({ sealed: z.string() })).default([]),
});

const sealedSession = z.object({ uid: z.string() });

/**
 * Every record in the store that is encrypted with the master key, found through the indexes. Not
 * included are records that expire within `LONGEST_UNLISTED_SECONDS`: device codes, pushed requests
 * and the state in cookies.
 */
export async function* sealedRecords(dependencies: {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly credentialHash: CredentialHash;
  readonly clients: ClientRegistry;
  readonly users: UserRegistry;
}): AsyncGenerator<SealedRecord> {
  const { store, sealer, credentialHash, clients, users } = dependencies;
  yield whole(CANARY_KEY, 'canary');
  yield whole(signingKeyRecord('authorization-server', 'RS256'), 'signing key');
  yield whole(signingKeyRecord('gateway', 'EdDSA'), 'signing key');
  for (const client of await clients.list()) {
    yield { key: clientKey(client.clientId), kind: 'client', map: mapClient(client.clientId) };
  }
  for (const { userId } of await users.list()) {
    for (const key of await store.members(userSessionsKey(userId))) {
      const session = parseRecord(sealedSession, open(sealer, await store.get(key), key));
      if (session !== undefined) {
        yield whole(sessionUidKey(credentialHash(session.uid)), 'session');
      }
      yield whole(key, 'session');
    }
  }
}

/** A signed-in user has an hour to answer a page. All other unlisted records expire earlier. */
export const LONGEST_UNLISTED_SECONDS: number = 60 * 60;

function whole(key: string, kind: SealedRecord['kind']): SealedRecord {
  return { key, kind, map: (text, replace) => replace(text, key) };
}

function mapClient(clientId: string): SealedRecord['map'] {
  return (text, replace) => {
    const client = parseRecord(sealedClient, text);
    if (client === undefined) {
      return text;
    }
    return JSON.stringify({
      ...client,
      sealedSecureKeys: client.sealedSecureKeys.map((key) =>
        replace(key, secureKeyContext({ clientId })),
      ),
      removedKeys: client.removedKeys.map((key) => ({
        ...key,
        sealed: replace(key.sealed, removedKeyContext({ clientId })),
      })),
    });
  };
}

function open(sealer: Sealer, sealed: string | undefined, key: string): string {
  try {
    return sealed === undefined ? '' : sealer.open(sealed, key);
  } catch {
    return '';
  }
}
