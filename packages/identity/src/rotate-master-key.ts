/**
 * Replaces the master key while the servers run. Servers read a changed key file within a second.
 *
 *   rotate   current + next      the new key only decrypts, until every host has the file
 *   rotate   new + previous      every record is encrypted again; can be interrupted and repeated
 *   finish   new                 rejected while a record needs the previous key
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { clientRecordKey, secureKeyContext } from './clients/client-keys.ts';
import type { Identity } from './open-identity.ts';
import { parseRecord, RejectedChangeError } from './records/record.ts';
import { withRecordLock } from './records/record-lock.ts';
import { sessionUidKey, userSessionsKey } from './secrets/credential-keys.ts';
import {
  KEY_BYTES,
  type MasterKeyFile,
  masterKeyId,
  masterKeyProblem,
  readMasterKeyFile,
  writeMasterKeyFile,
} from './secrets/master-key.ts';
import { createSealer } from './secrets/seal.ts';
import { signingKeyRecord } from './secrets/signing-keys.ts';
import { SETTINGS_KEY } from './settings/settings.ts';
import { factorsKey } from './users/factor-record.ts';

/** Servers read the file again after a second, and finish the write that they have started. */
const SETTLE_MILLISECONDS = 3_000;
/** A signed-in user has an hour to answer a page. All other unlisted records expire earlier. */
export const LONGEST_UNLISTED_SECONDS: number = 60 * 60;
const SWITCHED_KEY = 'master-key-switched-at';

/** A text in the store, encrypted with its master key. The key is also the encryption context. */
const CANARY_KEY = 'master-key-canary';
/** The hash of a known text, so that every process finds the records of credentials. */
const CREDENTIAL_CANARY_KEY = 'credential-canary';

/**
 * Checks that the master key belongs to this store. With another key, servers could not read each
 * other's records and would treat tokens as unknown. The first server or command that opens a store
 * claims it for its key, so of two that start together with different keys, one fails.
 *
 * @throws ConfigurationError if the store belongs to another key
 * @throws StoreUnavailableError
 */
export async function assertMasterKeyFits(identity: Identity): Promise<void> {
  const { store, sealer, credentialHash } = identity;
  // A full store accepts both, so that an upgrade can start.
  const hold = async (key: string, value: string) =>
    (await store.get(key)) ?? (await store.claim(key, value, undefined, { revokes: true }));
  const sealed = await hold(CANARY_KEY, sealer.seal('The master key fits.', CANARY_KEY));
  if (sealer.tryOpen(sealed, CANARY_KEY) === undefined) {
    throw masterKeyProblem('names a key that differs from the master key of this store');
  }
  // Without its last lines, a rotated key file would make all tokens unknown without an error.
  const hash = credentialHash(CREDENTIAL_CANARY_KEY);
  if ((await hold(CREDENTIAL_CANARY_KEY, hash)) !== hash) {
    throw masterKeyProblem(
      'names a file without the credential-pepper line of this store. Copy the whole file',
    );
  }
}

interface Rotation {
  readonly identity: Identity;
  /** The key file. */
  readonly path: string;
  readonly wait?: (milliseconds: number) => Promise<unknown>;
  /** Epoch milliseconds. */
  readonly now?: () => number;
}

/**
 * Takes the next step of a rotation, or continues an interrupted one with its key.
 *
 * @throws RejectedChangeError if the last rotation only waits for its end
 */
export async function rotateMasterKey(rotation: Rotation) {
  const { identity, wait = sleep, now = Date.now } = rotation;
  const { store } = identity;
  const { file, isChanged } = await changeFile(rotation, (before) => {
    if (before.previous !== undefined) {
      return before;
    }
    return before.next === undefined
      ? { ...before, next: randomBytes(KEY_BYTES) }
      : { ...before, current: before.next, next: undefined, previous: before.current };
  });
  if (file.next !== undefined) {
    return { change: 'added', keyId: masterKeyId(file.next), changedRecords: 0 } as const;
  }
  if (isChanged) {
    // An earlier rotation can have left its time. It must not count if this one is interrupted.
    await store.delete([SWITCHED_KEY]);
  }
  await wait(SETTLE_MILLISECONDS);
  let changedRecords = 0;
  for await (const { key, text, again } of sealedRecords(identity, file.current)) {
    const isReplaced = again !== text && (await store.replace(key, text, again));
    changedRecords += isReplaced ? 1 : 0;
  }
  if (!isChanged && changedRecords === 0 && (await store.get(SWITCHED_KEY)) !== undefined) {
    throw new RejectedChangeError(
      'No new key: the last rotation is not finished. Run gatehouse master-key rotate --finish first.',
    );
  }
  await store.set(SWITCHED_KEY, String(now()));
  const change = isChanged ? 'rotated' : 'continued';
  return { change, keyId: masterKeyId(file.current), changedRecords } as const;
}

/**
 * Removes the previous key from the file. Returns the id of the key that is left.
 *
 * @throws RejectedChangeError while something needs the previous key
 */
export async function finishMasterKeyRotation(rotation: Rotation): Promise<string> {
  const { identity, path, now = Date.now } = rotation;
  const checked = readMasterKeyFile(path);
  if (checked.previous === undefined) {
    throw new RejectedChangeError('The file has no previous key.');
  }
  const { outdated } = await examineRecords(rotation);
  const switchedAt = Number((await identity.store.get(SWITCHED_KEY)) ?? Number.NaN);
  // The time is unknown after an interruption, or in a restored backup.
  if (outdated.size > 0 || Number.isNaN(switchedAt)) {
    const kinds = Array.from(outdated, ([kind, count]) => `${kind}: ${count}`).join(', ');
    throw new RejectedChangeError(
      `Records need the previous key (${kinds || 'unknown'}). Run gatehouse master-key rotate again.`,
    );
  }
  const minutes = Math.ceil((switchedAt + LONGEST_UNLISTED_SECONDS * 1000 - now()) / 60_000);
  if (minutes > 0) {
    throw new RejectedChangeError(
      `Sign-ins that started before the rotation need the previous key for ${minutes} more minutes.`,
    );
  }
  await changeFile(rotation, (file) => {
    // Another command can have started a rotation after the check. Its records need these keys.
    if (!isDeepStrictEqual(file, checked)) {
      throw new RejectedChangeError('Another command changed the key file. Run the command again.');
    }
    return { ...file, previous: undefined };
  });
  await identity.store.delete([SWITCHED_KEY]);
  return masterKeyId(checked.current);
}

/**
 * Where a rotation is, without any key. `next` only decrypts. While there is a previous key,
 * `switchedAt` is when every listed record was encrypted with the current one.
 */
export async function describeMasterKey({ identity, path }: Pick<Rotation, 'identity' | 'path'>) {
  const { current, next, previous } = readMasterKeyFile(path);
  const switchedAt = Number((await identity.store.get(SWITCHED_KEY)) ?? Number.NaN);
  const isSwitched = previous !== undefined && !Number.isNaN(switchedAt);
  return {
    keyId: masterKeyId(current),
    nextKeyId: next && masterKeyId(next),
    previousKeyId: previous && masterKeyId(previous),
    /** Epoch milliseconds. */
    switchedAt: isSwitched ? switchedAt : undefined,
    finishAt: isSwitched ? switchedAt + LONGEST_UNLISTED_SECONDS * 1000 : undefined,
  };
}

/** Counts the records that need another key than the first one, and those that no key decrypts. */
export async function examineRecords({ identity, path }: Pick<Rotation, 'identity' | 'path'>) {
  const outdated = new Map<string, number>();
  let unreadable = 0;
  const { current } = readMasterKeyFile(path);
  for await (const { kind, text, again, isUnreadable } of sealedRecords(identity, current)) {
    if (again !== text) {
      outdated.set(kind, (outdated.get(kind) ?? 0) + 1);
    }
    unreadable += isUnreadable ? 1 : 0;
  }
  return { outdated, unreadable };
}

/** One command at a time, so that no generated key is lost. */
function changeFile(
  { identity, path }: Rotation,
  change: (before: MasterKeyFile) => MasterKeyFile,
) {
  return withRecordLock(identity.store, 'master-key', async (assertHeld) => {
    const before = readMasterKeyFile(path);
    const file = change(before);
    assertHeld();
    if (file !== before) {
      writeMasterKeyFile(path, file);
    }
    return { file, isChanged: file !== before };
  });
}

/** Each record with its text, and this text again, encrypted with the current key. */
async function* sealedRecords(identity: Identity, currentKey: Buffer) {
  const current = createSealer(currentKey);
  for await (const { key, kind, context } of sealedKeys(identity)) {
    const text = (await identity.store.get(key)) ?? '';
    let isUnreadable = false;
    const again = text.replace(/\bv1\.[\w-]{38,}/g, (sealed) => {
      if (current.tryOpen(sealed, context) !== undefined) {
        return sealed;
      }
      const opened = identity.sealer.tryOpen(sealed, context);
      isUnreadable ||= opened === undefined;
      return opened === undefined ? sealed : current.seal(opened, context);
    });
    yield { key, kind, text, again, isUnreadable };
  }
}

/**
 * Every record that is encrypted with the master key, found through the indexes. Not included are
 * records that expire within `LONGEST_UNLISTED_SECONDS`: device codes, pushed requests and the
 * state in cookies.
 */
async function* sealedKeys({ store, sealer, credentialHash, clients, users }: Identity) {
  const whole = (kind: string, key: string) => ({ kind, key, context: key });
  yield whole('canary', CANARY_KEY);
  yield whole('settings', SETTINGS_KEY);
  yield whole('signing key', signingKeyRecord('authorization-server'));
  yield whole('signing key', signingKeyRecord('gateway'));
  for (const client of await clients.list()) {
    const key = clientRecordKey(client.clientId);
    yield { kind: 'client', key, context: secureKeyContext(client) };
  }
  for (const { userId } of await users.list()) {
    yield whole('second factor', factorsKey(userId));
    for (const key of await store.members(userSessionsKey(userId))) {
      const session = sealer.tryOpen((await store.get(key)) ?? '', key);
      const uid = parseRecord(z.object({ uid: z.string() }), session)?.uid;
      if (uid !== undefined) {
        yield whole('session', sessionUidKey(credentialHash(uid)));
      }
      yield whole('session', key);
    }
  }
}
