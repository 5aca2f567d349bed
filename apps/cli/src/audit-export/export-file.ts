import { type FileHandle, open } from 'node:fs/promises';
import { RejectedChangeError } from '@gatehouse/identity';
import type { AuditExport } from './read-export.ts';

/** The file of an export, to which lines are appended. */
export interface ExportFile {
  /** Resolves when the lines are on the disk. */
  append(lines: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the file for one process, and creates it if it does not exist.
 *
 * @param existing its content. The incomplete line is removed
 */
export async function openExportFile(
  file: string,
  existing: Pick<AuditExport, 'completeBytes' | 'incompleteBytes'>,
): Promise<ExportFile> {
  const { completeBytes, incompleteBytes } = existing;
  const handle = await open(file, 'a', 0o600);
  try {
    await assertSize(handle, completeBytes + incompleteBytes);
    await handle.truncate(completeBytes);
  } catch (error) {
    await handle.close();
    throw error;
  }
  let size = completeBytes;
  return {
    async append(lines) {
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
