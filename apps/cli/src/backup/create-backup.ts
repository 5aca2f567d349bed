import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type MasterKeys, masterKeyId, RejectedChangeError } from '@gatehouse/identity';
import { copySqliteFile } from '@gatehouse/store';
import {
  type BackupFile,
  backupFiles,
  hashOf,
  MANIFEST,
  type Manifest,
  withTemporaryFolder,
} from './backup-folder.ts';

/**
 * Copies the SQLite files of an embedded installation into a new folder, while servers use them.
 * Each copy is one transaction. The folder gets its name when it is complete.
 *
 * @throws RejectedChangeError if the folder exists or the copy fails. Nothing is left then
 */
export async function createBackup(
  folder: string,
  dataDirectory: string,
  masterKey: MasterKeys,
): Promise<Manifest> {
  if (existsSync(folder)) {
    throw new RejectedChangeError(`${folder} already exists. Name a new folder.`);
  }
  const partial = `${folder}.${randomBytes(4).toString('hex')}.partial`;
  return withTemporaryFolder(partial, async () => {
    const copied = backupFiles.filter((name) => existsSync(join(dataDirectory, name)));
    for (const name of copied) {
      copySqliteFile(join(dataDirectory, name), join(partial, name));
    }
    const hashes = await Promise.all(
      copied.map(async (name) => [name, await hashOf(join(partial, name))] as const),
    );
    // A rotation can have started since the copy began.
    masterKey.refresh();
    const manifest: Manifest = {
      format: 1,
      createdAt: new Date().toISOString(),
      masterKeyIds: masterKey.keys().map(masterKeyId),
      sha256: Object.fromEntries(hashes) as Record<BackupFile, string>,
    };
    const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
    writeFileSync(join(partial, MANIFEST), text, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(partial, folder);
    return manifest;
  }).catch((error: unknown) => {
    throw new RejectedChangeError(`The backup failed, and nothing was saved: ${String(error)}`);
  });
}
