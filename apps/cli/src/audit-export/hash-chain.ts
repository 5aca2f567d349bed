import { createHash } from 'node:crypto';
import type { AuditEntry } from '@gatehouse/identity';

/** Hexadecimal SHA-256 of a line without its line break. The first line has no predecessor: `null`. */
export type LineHash = string | null;

export const hashOf = (line: string | Buffer): string =>
  createHash('sha256').update(line).digest('hex');

/** Lines that each contain the hash of the line before, so a missing or changed line shows. */
export function createChain(last: LineHash): {
  add(entry: AuditEntry): string;
  last(): LineHash;
} {
  let previous = last;
  return {
    add(entry) {
      // The hash is first, and an entry of a later release cannot replace it.
      const line = visible(JSON.stringify(Object.assign({ previous }, entry, { previous })));
      previous = hashOf(line);
      return line;
    },
    last: () => previous,
  };
}

/** The start of the next line of an export. */
export const startOfLine = (previous: LineHash): string =>
  `{"previous":${JSON.stringify(previous)},`;

/** Escapes characters that control a terminal or the direction of text. */
function visible(json: string): string {
  return json.replace(
    /[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
