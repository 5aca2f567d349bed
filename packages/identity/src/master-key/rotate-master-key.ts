/**
 * Replaces the master key while the servers run.
 *
 *   add     file: old + next      optional, to distribute the key to other hosts first
 *   rotate  file: new + previous  all records are encrypted again; can be interrupted and repeated
 *   retire  file: new             refused while a record needs the previous key
 */
import type { Identity } from '../open-identity.ts';
import { withRecordLock } from '../records/record-lock.ts';
import { RejectedChangeError } from '../records/rejected-change-error.ts';
import {
  type LastingKeys,
  lastingKeyOf,
  type MasterKeys,
  masterKeyId,
} from '../secrets/master-key.ts';
import {
  generateMasterKey,
  type MasterKeyFile,
  readMasterKeyFile,
  writeMasterKeyFile,
} from '../secrets/master-key-file.ts';
import { createReaders, resealAll, useOf } from './reseal-records.ts';
import { LONGEST_UNLISTED_SECONDS, sealedRecords } from './sealed-records.ts';

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
          'No new key: the last rotation is not finished. Run gatehouse master-key rotate --finish first.',
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
