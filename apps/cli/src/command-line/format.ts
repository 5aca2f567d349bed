/** Text of lines, without those that are absent. */
export const lines = (...parts: readonly (string | false | undefined)[]): string =>
  parts.filter((part) => typeof part === 'string').join('\n');

/** Aligns the columns, with two spaces between them. Every row has the same number of cells. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<readonly number[]>(
    (found, row) => row.map((cell, i) => Math.max(found[i] ?? 0, cell.length)),
    [],
  );
  const lineOf = (row: readonly string[]) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0));
  return rows.map((row) => lineOf(row).join('  ').trimEnd()).join('\n');
}

/** One row for each value, such as `lifetimes.code`. */
export function rowsOf(value: object, name = ''): readonly (readonly string[])[] {
  const entries = Object.entries(value);
  return entries.every(([, each]) => typeof each === 'string') && Array.isArray(value)
    ? [[name, value.join(', ') || 'none']]
    : entries.flatMap(([key, each]) => {
        const path = name === '' ? key : `${name}.${key}`;
        return typeof each === 'object' ? rowsOf(each, path) : [[path, String(each ?? '-')]];
      });
}

/** @param seconds since the epoch */
export function formatTime(seconds: number | undefined): string {
  return seconds === undefined ? 'unknown' : new Date(seconds * 1000).toISOString();
}

/** When something was last used. Each process writes this time at most once a minute. */
export const formatUse = (seconds: number | undefined): string =>
  seconds === undefined ? '-' : formatTime(seconds).replace(/:\d\d\.000Z/, 'Z');

/** Text from a server or a stored entry must not control the terminal or start a new line. */
export function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?');
}

/** Removes characters that are invisible or change the direction of text. */
export function printableName(name: string): string {
  return name.replace(/\p{Cf}/gu, '');
}

/** Everything that a reader cannot see, or that could control the terminal. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\\]|(?! )\p{Zs}| +$/gmu;

/** The lines of a text, indented, with escapes for characters that a reader cannot see. */
export function visibleLines(text: string): string {
  const names: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };
  const shown = (character: string) =>
    names[character] ?? `\\u{${character.codePointAt(0)?.toString(16).padStart(2, '0')}}`;
  const escaped = (found: string) => (found === '\\' ? '\\\\' : [...found].map(shown).join(''));
  const lines = text.split(/(?<=\n)/).map((line) => `  ${line.replace(INVISIBLE, escaped)}`);
  return lines.join('\n');
}
