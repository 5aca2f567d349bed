const MAXIMUM_CHARACTERS = 200;

/** Text of a server must not control the terminal, and must not look like a further finding. */
export function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, MAXIMUM_CHARACTERS);
}
