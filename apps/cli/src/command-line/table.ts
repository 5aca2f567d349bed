/** Aligns the columns, with two spaces between them. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, cell.length);
    });
  }
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** @param seconds since the epoch */
export function formatTime(seconds: number | undefined): string {
  return seconds === undefined ? 'unknown' : new Date(seconds * 1000).toISOString();
}
