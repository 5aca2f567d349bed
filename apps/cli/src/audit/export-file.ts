/**
 * The format of an audit export: lines of JSON that each contain the hash of the line before, so
 * that a missing or changed line shows.
 */
import { createReadStream, existsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import {
  type AuditEntry,
  lastTimeOf,
  MAXIMUM_AUDIT_ENTRIES,
  RejectedChangeError,
} from '@gatehouse/identity';
import { hashOfLine, type LineHash } from '@gatehouse/operators';
import { parseJson } from '@gatehouse/signing/core';
import { UsageError } from '../command-line/command.ts';
import { withFileErrors } from '../command-line/terminal.ts';
import { versionOf } from './follow-trail.ts';

const MAXIMUM_LINE_BYTES = 1024 * 1024;

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
  onEntry?: (entry: AuditEntry, line: number) => void,
) {
  if (hash !== undefined && !/^[0-9a-f]{64}$/.test(hash)) {
    throw new UsageError('--hash must be a SHA-256 hash of 64 hexadecimal digits.');
  }
  let contains = hash === undefined;
  const reading = readExport(path, (lineHash, ...line) => {
    contains ||= lineHash === hash;
    onEntry?.(...line);
  });
  const read = await withFileErrors(path, reading);
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

/**
 * Reads an export and verifies its hash chain.
 *
 * @param onLine gets the hash, the entry and the number of each line
 * @throws RejectedChangeError with the number of the first line that breaks the chain, or if the file
 *   is something else than an export
 */
async function readExport(
  file: string,
  onLine?: (hash: string, entry: AuditEntry, line: number) => void,
) {
  const versions = new Set<string>();
  const read = { lines: 0, completeBytes: 0, lastHash: null as LineHash };
  let first: string | undefined;
  let newest: string | undefined;
  const lines = readLines(file);
  let next = await lines.next();
  for (; next.done !== true; next = await lines.next()) {
    const line = next.value;
    const number = read.lines + 1;
    const entry = parseLine(line, number);
    if (entry.previous !== read.lastHash) {
      throw brokenAt(number, 'A line before it was removed, added or changed');
    }
    read.lines = number;
    read.lastHash = hashOfLine(line);
    read.completeBytes += line.length + 1;
    onLine?.(read.lastHash, entry, number);
    first = first === undefined || entry.at < first ? entry.at : first;
    const time = lastTimeOf(entry);
    newest = newest === undefined || time > newest ? time : newest;
    versions.add(versionOf(entry));
    const [oldest = ''] = versions;
    if (versions.size > MAXIMUM_AUDIT_ENTRIES) {
      versions.delete(oldest);
    }
  }
  const rest = next.value;
  // A killed process can leave an incomplete line at the end.
  const expected = `{"previous":${JSON.stringify(read.lastHash)},`;
  if (!expected.startsWith(rest.slice(0, expected.length))) {
    throw brokenAt(read.lines + 1, 'It is not an audit entry');
  }
  return { ...read, incompleteBytes: rest.length, first, newest, versions };
}

/** @returns the bytes after the last line break, one character for each */
async function* readLines(file: string): AsyncGenerator<Buffer, string> {
  let rest = Buffer.alloc(0);
  for await (const chunk of createReadStream(file)) {
    rest = Buffer.concat([rest, chunk as Buffer]);
    let start = 0;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10, start)) {
      yield rest.subarray(start, end);
      start = end + 1;
    }
    rest = rest.subarray(start);
    if (rest.length > MAXIMUM_LINE_BYTES) {
      throw new RejectedChangeError('The file is not an export of the audit trail.');
    }
  }
  return rest.toString('latin1');
}

function parseLine(line: Buffer, number: number): AuditEntry & { readonly previous: LineHash } {
  const entry = Object(parseJson(line.toString()));
  if (typeof entry.id !== 'string' || typeof entry.at !== 'string') {
    throw brokenAt(number, 'It is not an audit entry');
  }
  return entry;
}

function brokenAt(number: number, cause: string): RejectedChangeError {
  return new RejectedChangeError(`The chain is broken at line ${number}. ${cause}.`);
}

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
