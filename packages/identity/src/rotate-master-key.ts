/**
 * Replaces the master key while the servers run.
 *
 *   add     file: old + next      optional, to distribute the key to other hosts first
 *   rotate  file: new + previous  all records are encrypted again; can be interrupted and repeated
 *   retire  file: new             refused while a record needs the previous key
 */
import { z } from 'zod';
import { clientRecordKey, secureKeyContext } from './clients/client-keys.ts';
import { CANARY_KEY } from './master-key-check.ts';
import type { Identity } from './open-identity.ts';
import { parseRecord, RejectedChangeError } from './records/record.ts';
import { withRecordLock } from './records/record-lock.ts';
import { sessionUidKey, userSessionsKey } from './secrets/credential-keys.ts';
import {
  type LastingKeys,
  lastingKeyOf,
  type MasterKeys,
  masterKeyId,
} from './secrets/master-key.ts';
import {
  generateMasterKey,
  type MasterKeyFile,
  readMasterKeyFile,
  writeMasterKeyFile,
} from './secrets/master-key-file.ts';
import { createSealer, isSealed, type Sealer } from './secrets/seal.ts';
import { signingKeyRecord } from './secrets/signing-keys.ts';

export type MasterKeyUse = Awaited<ReturnType<typeof readUse>>;

/** Servers read the file again after a second, and finish the write that they have started. */
const SETTLE_MILLISECONDS = 3_000;
/** A signed-in user has an hour to answer a page. All other unlisted records expire earlier. */
export const LONGEST_UNLISTED_SECONDS: number = 60 * 60;
/** Servers on other hosts, which still have the old file, can undo part of a pass. */
const MAXIMUM_PASSES = 5;
const SWITCHED_KEY = 'master-key-switched-at';
const LOCK = 'master-key';

export type MasterKeyRotation = ReturnType<typeof createMasterKeyRotation>;

export function createMasterKeyRotation(dependencies: {
  readonly identity: Identity;
  readonly masterKey: MasterKeys;
  readonly path: string;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const { identity, masterKey, path, wait, now } = dependencies;
  const { store } = identity;

  /** One command at a time, so that no generated key is lost. */
  function changeFile(change: (file: MasterKeyFile) => MasterKeyFile) {
    return withRecordLock(store, LOCK, async (assertHeld) => {
      const before = readMasterKeyFile(path);
      const file = change(before);
      assertHeld();
      if (file !== before) {
        writeMasterKeyFile(path, file);
        masterKey.refresh();
      }
      return { file, isChanged: file !== before };
    });
  }

  const check = () => readUse(identity, path);

  return {
    check,
    /** Adds a random key that decrypts only, until the next rotation. Returns its id. */
    async add(): Promise<string> {
      const next = generateMasterKey();
      await changeFile((file) => {
        if (file.next !== undefined || file.previous !== undefined) {
          throw new RejectedChangeError('The file already has a second key.');
        }
        return { ...file, next, lasting: keepLasting(file) };
      });
      return masterKeyId(next);
    },
    /**
     * Starts a rotation, or continues an interrupted one with its key, and encrypts every record
     * with the first key of the file.
     *
     * @throws RejectedChangeError if the last rotation only waits for `retire`
     */
    async rotate() {
      const { file, isChanged: isNewKey } = await changeFile((file) => {
        const current = file.next ?? generateMasterKey();
        return file.previous === undefined
          ? { current, previous: file.current, lasting: keepLasting(file) }
          : file;
      });
      if (!isNewKey && isEncryptedAgain(await check())) {
        throw new RejectedChangeError(
          'No new key: the last rotation is not finished. Run gatehouse master-key rotate --finish first.',
        );
      }
      await store.set(SWITCHED_KEY, String(now()));
      await wait(SETTLE_MILLISECONDS);
      const changedRecords = await resealAll(identity, createSealer(file.current));
      return { keyId: masterKeyId(file.current), isNewKey, changedRecords };
    },
    /** @throws RejectedChangeError while something needs the previous key */
    async retire() {
      const use = await check();
      assertRetirable(use, now());
      await changeFile(({ current, previous, lasting }) => {
        // Another command can have started a rotation after the check. Its records need these keys.
        const previousKeyId = previous && masterKeyId(previous);
        if (masterKeyId(current) !== use.keyId || previousKeyId !== use.previousKeyId) {
          const message = 'Another command changed the key file. Run the command again.';
          throw new RejectedChangeError(message);
        }
        return { current, lasting };
      });
      return { keyId: use.keyId };
    },
  };
}

function keepLasting(file: MasterKeyFile): LastingKeys {
  return {
    'credential-pepper': lastingKeyOf(file, 'credential-pepper'),
    'refresh-successor': lastingKeyOf(file, 'refresh-successor'),
  };
}

async function readUse(identity: Identity, path: string) {
  const { current, next, previous } = readMasterKeyFile(path);
  const sealer = createSealer(current);
  /** Records that only the previous key decrypts, by kind. */
  const needPrevious: Record<string, number> = {};
  /** Records that no key decrypts. A rotation does not change them. */
  const damaged: Record<string, number> = {};
  for await (const { key, kind, map } of sealedRecords(identity)) {
    const uses = new Set<Record<string, number>>();
    map((await identity.store.get(key)) ?? '', (sealed, context) => {
      if (tryOpen(sealer, sealed, context) === undefined) {
        const isKnown = tryOpen(identity.sealer, sealed, context) !== undefined;
        uses.add(isKnown ? needPrevious : damaged);
      }
      return sealed;
    });
    for (const counts of uses) {
      counts[kind] = (counts[kind] ?? 0) + 1;
    }
  }
  const switchedAt = Number(await identity.store.get(SWITCHED_KEY));
  return {
    keyId: masterKeyId(current),
    nextKeyId: next && masterKeyId(next),
    previousKeyId: previous && masterKeyId(previous),
    needPrevious,
    damaged,
    /** Epoch milliseconds at which the last short-lived record of the previous key expires. */
    retirableAt: previous && switchedAt + LONGEST_UNLISTED_SECONDS * 1000,
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
  const minutes = Math.ceil(((use.retirableAt ?? Number.NaN) - now) / 60_000);
  if (needed.length > 0 || Number.isNaN(minutes)) {
    const records = needed.length > 0 ? `Records need the previous key (${needed.join(', ')})` : '';
    throw new RejectedChangeError(
      `${records || 'The rotation was not completed'}. Run gatehouse master-key rotate again.`,
    );
  }
  if (minutes > 0) {
    throw new RejectedChangeError(
      `Sign-ins that started before the rotation need the previous key for ${minutes} more minutes.`,
    );
  }
}

/** @returns the number of changed records */
async function resealAll(identity: Identity, current: Sealer): Promise<number> {
  let total = 0;
  for (let pass = 0; pass < MAXIMUM_PASSES; pass += 1) {
    const before = total;
    for await (const record of sealedRecords(identity)) {
      total += (await reseal(identity, record, current)) ? 1 : 0;
    }
    if (total === before) {
      return total;
    }
  }
  throw new RejectedChangeError(
    'A server still encrypts with the previous key. Copy the key file to every host, then repeat the command.',
  );
}

/**
 * Changes a record under its lock, because a change that started earlier would write the old text
 * back. Sessions have no lock. If one changes meanwhile, the next pass repeats it.
 */
async function reseal({ store, sealer }: Identity, record: SealedRecord, current: Sealer) {
  const replace = (sealed: string, context: string): string => {
    const isCurrent = tryOpen(current, sealed, context) !== undefined;
    const text = isCurrent ? undefined : tryOpen(sealer, sealed, context);
    return text === undefined ? sealed : current.seal(text, context);
  };
  const write = async (assertHeld: () => void) => {
    const before = await store.get(record.key);
    const after = before === undefined ? undefined : record.map(before, replace);
    if (before === undefined || after === undefined || before === after) {
      return false;
    }
    assertHeld();
    return store.replace(record.key, before, after);
  };
  return record.kind === 'session'
    ? write(() => undefined)
    : withRecordLock(store, record.key, write);
}

function tryOpen(sealer: Sealer, sealed: string, context: string): string | undefined {
  try {
    return sealer.open(sealed, context);
  } catch {
    return undefined;
  }
}

/** A record with encrypted text. */
interface SealedRecord {
  readonly key: string;
  readonly kind: 'canary' | 'signing key' | 'client' | 'session';
  /** The record with every encrypted text replaced. */
  readonly map: (text: string, replace: (sealed: string, context: string) => string) => string;
}

/**
 * Every record in the store that is encrypted with the master key, found through the indexes. Not
 * included are records that expire within `LONGEST_UNLISTED_SECONDS`: device codes, pushed requests
 * and the state in cookies.
 */
async function* sealedRecords(identity: Identity): AsyncGenerator<SealedRecord> {
  const { store, sealer, credentialHash, clients, users } = identity;
  yield whole(CANARY_KEY, 'canary');
  yield whole(signingKeyRecord('authorization-server', 'RS256'), 'signing key');
  yield whole(signingKeyRecord('gateway', 'EdDSA'), 'signing key');
  for (const client of await clients.list()) {
    yield {
      key: clientRecordKey(client.clientId),
      kind: 'client',
      map: (text, replace) =>
        mapClient(text, (sealed) => replace(sealed, secureKeyContext(client))),
    };
  }
  for (const { userId } of await users.list()) {
    for (const key of await store.members(userSessionsKey(userId))) {
      const session = tryOpen(sealer, (await store.get(key)) ?? '', key);
      const uid = parseRecord(z.object({ uid: z.string() }), session ?? '')?.uid;
      if (uid !== undefined) {
        yield whole(sessionUidKey(credentialHash(uid)), 'session');
      }
      yield whole(key, 'session');
    }
  }
}

function whole(key: string, kind: SealedRecord['kind']): SealedRecord {
  return { key, kind, map: (text, replace) => (text === '' ? '' : replace(text, key)) };
}

/** Keeps members of later releases. Earlier releases kept removed keys, which nothing needs. */
function mapClient(text: string, replace: (sealed: string) => string): string {
  const parsed = parseRecord(z.looseObject({}), text);
  if (parsed === undefined || !text.includes('"v1.')) {
    return text;
  }
  const { removedKeys: _kept, ...client } = parsed;
  return JSON.stringify(client, (_name, value) => (isSealed(value) ? replace(value) : value));
}
