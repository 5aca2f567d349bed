/** Everything that a reader cannot see, or that could control the terminal. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\\]|(?! )\p{Zs}| +$/gmu;

const names: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\\': '\\\\',
};

/**
 * The lines of a text, with escapes for characters that a reader cannot see. A line feed is shown
 * at the end of its line.
 */
export function visibleLines(text: string): readonly string[] {
  return text.split(/(?<=\n)/).map(visibleLine);
}

/** One line, in which a line feed is an escape, too. */
export function visibleLine(text: string): string {
  return text.replace(INVISIBLE, (found) => [...found].map(escapeCharacter).join(''));
}

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0)?.toString(16).padStart(2, '0');
  return names[character] ?? `\\u{${code}}`;
}
