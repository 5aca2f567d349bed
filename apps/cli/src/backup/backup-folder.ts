/** The folder of a backup: its files, its manifest, and how it appears as a whole or not at all. */
import { createHash, randomBytes } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type MasterKeys, masterKeyId, RejectedChangeError } from '@gatehouse/identity';
import { copySqliteFile } from '@gatehouse/store';
import { z } from 'zod';

/** The files of a backup. Names from a manifest are never used as paths. */
export const backupFiles = ['devices.sqlite', 'gatehouse.sqlite'] as const;

const MANIFEST = 'manifest.json';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** Written last, so a folder with a manifest is complete. */
const manifestSchema = z.strictObject({
  format: z.literal(1),
  /** The time at which the copy started: ISO 8601. Later changes may be missing. */
  createdAt: z.iso.datetime(),
  /**
   * The keys of the key file, which the backup does not contain. The first one encrypted. Records
   * can need the others if a rotation was not complete.
   */
  masterKeyIds: z.array(z.string().regex(/^[0-9a-f]{8}$/)).min(1),
  sha256: z.strictObject({
    'gatehouse.sqlite': sha256,
    'devices.sqlite': sha256.optional(),
  }),
});

export type Manifest = z.infer<typeof manifestSchema>;

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
      sha256: Object.fromEntries(hashes) as Manifest['sha256'],
    };
    const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
    writeFileSync(join(partial, MANIFEST), text, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(partial, folder);
    return manifest;
  }).catch((error: unknown) => {
    throw new RejectedChangeError(`The backup failed, and nothing was saved: ${String(error)}`);
  });
}

/** @throws RejectedChangeError if the folder is not a complete backup */
export function readManifest(folder: string): Manifest {
  try {
    const path = join(folder, MANIFEST);
    if (!lstatSync(path).isFile()) {
      throw new Error('not a file');
    }
    return manifestSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    throw new RejectedChangeError(
      `${folder} is not a complete backup of this release: ${MANIFEST} is missing or unknown.`,
    );
  }
}

/** Removes the folder when the work ends. A restore reports one that a killed process left. */
export async function withTemporaryFolder<Result>(
  path: string,
  work: () => Promise<Result>,
): Promise<Result> {
  mkdirSync(path, { mode: 0o700 });
  try {
    return await work();
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}

export async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
