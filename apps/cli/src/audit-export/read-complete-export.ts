import { type AuditEntry, RejectedChangeError } from '@gatehouse/identity';
import { UsageError } from '../command-line/command.ts';
import { fileError } from '../command-line/file-error.ts';
import { type AuditExport, readExport } from './read-export.ts';

/**
 * Reads an export that must contain entries and end with a whole line.
 *
 * @param hash of a line that the export must contain, so that its end was not removed
 * @throws UsageError if the file cannot be read or `hash` is not a hash
 * @throws RejectedChangeError if the chain is broken, or the export is empty or incomplete
 */
export async function readCompleteExport(
  path: string,
  hash: string | undefined,
  onEntry?: (entry: AuditEntry) => void,
): Promise<AuditExport> {
  if (hash !== undefined && !/^[0-9a-f]{64}$/.test(hash)) {
    throw new UsageError('--hash must be a SHA-256 hash of 64 hexadecimal digits.');
  }
  let contains = hash === undefined;
  const read = await readExport(path, (lineHash, entry) => {
    contains ||= lineHash === hash;
    onEntry?.(entry);
  }).catch((error: unknown) => {
    throw fileError(path, error);
  });
  const { lines, incompleteBytes } = read;
  if (lines === 0 || incompleteBytes > 0) {
    throw new RejectedChangeError(
      lines === 0
        ? 'The file contains no audit entry.'
        : `The line after line ${lines} is incomplete. A killed export can leave it, and the next one replaces it.`,
    );
  }
  if (!contains) {
    throw new RejectedChangeError(
      `The chain is complete, but none of its ${lines} lines has this hash. Lines at its end were removed, or this is another export.`,
    );
  }
  return read;
}
