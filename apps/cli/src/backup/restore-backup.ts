import { randomBytes } from 'node:crypto';
import {
  constants,
  createReadStream,
  createWriteStream,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import {
  assertMasterKeyFits,
  examineRecords,
  type Identity,
  type MasterKeys,
  masterKeyId,
  openIdentity,
  RejectedChangeError,
} from '@gatehouse/identity';
import { createStore, StoreUnavailableError } from '@gatehouse/store';
import { backupFiles, hashOf, type Manifest, withTemporaryFolder } from './backup-folder.ts';

/** The data directory, and the key file with the keys that it contains. */
export interface RestoreTarget {
  readonly dataDirectory: string;
  readonly masterKeyFile: string;
  readonly masterKey: MasterKeys;
}

/**
 * Restores a backup into a data directory without databases. Everything that was issued before is
 * revoked in a copy, which becomes the store only then. No server can start in between.
 *
 * @param change further changes to the copy
 * @throws RejectedChangeError. The data directory is then unchanged
 */
export async function restoreBackup<Result>(
  { folder, manifest }: { readonly folder: string; readonly manifest: Manifest },
  target: RestoreTarget,
  change: (identity: Identity) => Promise<Result>,
): Promise<Result> {
  const { dataDirectory, masterKey } = target;
  assertEmpty(dataDirectory);
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const staging = join(dataDirectory, `restore-${randomBytes(4).toString('hex')}`);
  return withTemporaryFolder(staging, async () => {
    const names = backupFiles.filter((name) => manifest.sha256[name] !== undefined);
    for (const name of names) {
      await copyVerified(join(folder, name), join(staging, name), manifest.sha256[name] ?? '');
    }
    const store = createStore(`sqlite:${join(staging, 'gatehouse.sqlite')}`);
    let result: Result;
    try {
      const identity = openIdentity({ store, masterKey });
      await assertKeysFit(identity, manifest, target);
      await identity.revocations.everything();
      result = await change(identity);
      await identity.audit.flush();
    } finally {
      await store.close();
    }
    linkAll(names, staging, dataDirectory);
    return result;
  }).catch((error: unknown) => {
    const cause = error instanceof StoreUnavailableError ? error.reason : fileErrorOf(error);
    throw cause === undefined
      ? error
      : new RejectedChangeError(`The restore failed, and nothing was changed: ${cause}`);
  });
}

/** Links do not replace a file that a server has created meanwhile. The store is the last. */
function linkAll(names: readonly string[], from: string, to: string): void {
  const linked: string[] = [];
  try {
    for (const name of names) {
      linkSync(join(from, name), join(to, name));
      linked.push(name);
    }
  } catch (error) {
    for (const name of linked) {
      rmSync(join(to, name));
    }
    throw error;
  }
}

function assertEmpty(dataDirectory: string): void {
  const names = existsSync(dataDirectory) ? readdirSync(dataDirectory) : [];
  const interrupted = names.find((name) => /^restore-[0-9a-f]{8}$/.test(name));
  if (interrupted !== undefined) {
    throw new RejectedChangeError(
      `${join(dataDirectory, interrupted)} belongs to another restore. If none is running, delete it: it can contain revoked credentials.`,
    );
  }
  const found = names.filter((name) => backupFiles.some((each) => name.startsWith(each)));
  if (found.length > 0) {
    throw new RejectedChangeError(
      `${dataDirectory} already has databases (${found.join(', ')}). Stop the servers, and move these files to another folder.`,
    );
  }
}

/** During a rotation, some records need the previous key and some the new one. */
async function assertKeysFit(
  identity: Identity,
  { masterKeyIds }: Manifest,
  { masterKey, masterKeyFile: path }: RestoreTarget,
): Promise<void> {
  const held = masterKey.keys().map(masterKeyId);
  const missing = masterKeyIds.filter((id) => !held.includes(id));
  const [needed = ''] = masterKeyIds;
  if (missing[0] === needed) {
    throw new RejectedChangeError(
      `The backup needs the master key ${needed}. The key file has ${held.join(', ')}.`,
    );
  }
  await assertMasterKeyFits(identity);
  const isComplete = missing.length === 0;
  const unreadable = isComplete ? 0 : (await examineRecords({ identity, path })).unreadable;
  if (unreadable > 0) {
    throw new RejectedChangeError(
      `${unreadable} records of the backup need the master key ${missing.join(' or ')}, because a rotation was not complete. Use the key file of that time.`,
    );
  }
}

/** Verifies what it has written, so that the source cannot change in between. */
async function copyVerified(from: string, to: string, expected: string): Promise<void> {
  const source = openSync(from, constants.O_RDONLY | constants.O_NOFOLLOW);
  await pipeline(
    createReadStream(from, { fd: source }),
    createWriteStream(to, { mode: 0o600, flags: 'wx', flush: true }),
  );
  if ((await hashOf(to)) !== expected) {
    throw new RejectedChangeError(`${from} is damaged: its SHA-256 hash is not in the manifest.`);
  }
}

/** Such as a missing file, a full disk, or a link instead of a file. */
function fileErrorOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).syscall === undefined ? undefined : String(error);
}
