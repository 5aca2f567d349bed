import { createReadStream } from 'node:fs';
import {
  type AuditEntry,
  lastTimeOf,
  MAXIMUM_AUDIT_ENTRIES,
  RejectedChangeError,
} from '@gatehouse/identity';
import { versionOf } from './follow-trail.ts';
import { hashOf, type LineHash, startOfLine } from './hash-chain.ts';

const MAXIMUM_LINE_BYTES = 1024 * 1024;

export interface AuditExport {
  readonly lines: number;
  readonly lastHash: LineHash;
  /** The earliest and the latest event. */
  readonly first: string | undefined;
  readonly newest: string | undefined;
  /** The versions of the last entries. */
  readonly versions: ReadonlySet<string>;
  /** The size of the file without the incomplete line at its end. */
  readonly completeBytes: number;
  /** The size of the incomplete line at the end, which a killed process can leave. */
  readonly incompleteBytes: number;
}

/**
 * Reads an export and verifies its hash chain.
 *
 * @param onLine gets the hash and the entry of each line
 * @throws RejectedChangeError with the number of the first line that breaks the chain, or if the file
 *   is something else than an export
 */
export async function readExport(
  file: string,
  onLine?: (hash: string, entry: AuditEntry) => void,
): Promise<AuditExport> {
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
    read.lastHash = hashOf(line);
    read.completeBytes += line.length + 1;
    onLine?.(read.lastHash, entry);
    first = first === undefined || entry.at < first ? entry.at : first;
    const time = lastTimeOf(entry);
    newest = newest === undefined || time > newest ? time : newest;
    remember(versions, versionOf(entry));
  }
  const rest = next.value;
  const expected = startOfLine(read.lastHash);
  if (!expected.startsWith(rest.slice(0, expected.length))) {
    throw brokenAt(read.lines + 1, 'It is not an audit entry');
  }
  return { ...read, incompleteBytes: rest.length, first, newest, versions };
}

function remember(versions: Set<string>, version: string): void {
  versions.add(version);
  const [oldest] = versions;
  if (versions.size > MAXIMUM_AUDIT_ENTRIES && oldest !== undefined) {
    versions.delete(oldest);
  }
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
  try {
    const entry = JSON.parse(line.toString());
    if (typeof entry.id === 'string' && typeof entry.at === 'string') {
      return entry;
    }
  } catch {
    // Reported below.
  }
  throw brokenAt(number, 'It is not an audit entry');
}

function brokenAt(number: number, cause: string): RejectedChangeError {
  return new RejectedChangeError(`The chain is broken at line ${number}. ${cause}.`);
}
