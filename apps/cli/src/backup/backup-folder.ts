/** The folder of a backup: its files, its manifest, and how it appears as a whole or not at all. */
import { createHash } from 'node:crypto';
import { createReadStream, lstatSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { RejectedChangeError } from '@gatehouse/identity';
import { z } from 'zod';

/** The files of a backup. Names from a manifest are never used as paths. */
export const backupFiles = ['devices.sqlite', 'gatehouse.sqlite'] as const;

export type BackupFile = (typeof backupFiles)[number];

export const MANIFEST = 'manifest.json';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** Written last, so a folder with a manifest is complete. */
const manifest = z.strictObject({
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

export type Manifest = z.infer<typeof manifest>;

/** @throws RejectedChangeError if the folder is not a complete backup */
export function readManifest(folder: string): Manifest {
  try {
    const path = join(folder, MANIFEST);
    if (!lstatSync(path).isFile()) {
      throw new Error('not a file');
    }
    return manifest.parse(JSON.parse(readFileSync(path, 'utf8')));
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
