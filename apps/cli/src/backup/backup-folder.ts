/** The folder of a backup: its files, its manifest, and how it appears as a whole or not at all. */
import { closeSync, fsyncSync, lstatSync, openSync, readFileSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
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

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Removes the folder when the work ends, also if a signal ends it. The folder can contain a store
 * in which nothing is revoked yet.
 */
export async function withTemporaryFolder<Result>(
  path: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const remove = () => rmSync(path, { recursive: true, force: true });
  const stop = (signal: NodeJS.Signals) => {
    remove();
    process.exit(128 + constants.signals[signal]);
  };
  for (const signal of signals) {
    process.on(signal, stop);
  }
  try {
    return await work();
  } finally {
    for (const signal of signals) {
      process.off(signal, stop);
    }
    remove();
  }
}

export function syncFolder(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
