/** Text from a server or a stored entry must not control the terminal or start a new line. */
export function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?');
}
