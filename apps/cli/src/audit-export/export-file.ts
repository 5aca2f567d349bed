import { existsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { RejectedChangeError } from '@gatehouse/identity';
import { readExport } from './hash-chain.ts';

/**
 * Opens the file of an export for one process, and creates it if it does not exist. An existing
 * file must be an export. Its incomplete line is removed.
 */
export async function openExportFile(path: string) {
  const existing = existsSync(path) ? await readExport(path) : undefined;
  const { completeBytes, incompleteBytes } = existing ?? { completeBytes: 0, incompleteBytes: 0 };
  const handle = await open(path, 'a', 0o600);
  try {
    await assertSize(handle, completeBytes + incompleteBytes);
    await handle.truncate(completeBytes);
  } catch (error) {
    await handle.close();
    throw error;
  }
  let size = completeBytes;
  return {
    /** The export that the file already contained. */
    existing,
    /** Resolves when the lines are on the disk. */
    async append(lines: readonly string[]): Promise<void> {
      await assertSize(handle, size);
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
      await handle.writeFile(bytes);
      await handle.datasync();
      size += bytes.length;
      await assertSize(handle, size);
    },
    close: () => handle.close(),
  };
}

/** Lines of another process would break the chain. */
async function assertSize(handle: FileHandle, expected: number): Promise<void> {
  if ((await handle.stat()).size !== expected) {
    throw new RejectedChangeError(
      'Another process writes to the file. Stop it, and check the file with gatehouse audit verify.',
    );
  }
}
