/** Characters that end a line, or that are invisible and change how a reader sees the code. */
const DECEIVING =
  /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}\p{Variation_Selector}\u3164\u115f\u1160\uffa0]/gu;

/** A text for a POSIX shell. Nothing in single quotes has a special meaning. */
export function quoteShell(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replace(DECEIVING, octal);
  return escaped.length === text.replaceAll('\\', '\\\\').length
    ? quoted(text)
    : `"$(printf %b ${quoted(escaped)})"`;
}

/** JSON that a reader sees as it is. The escapes stand in strings, so the value is the same. */
export function escapeJson(json: string): string {
  return json.replace(DECEIVING, surrogates);
}

export function quoteJavaScript(text: string): string {
  return JSON.stringify(text).replace(DECEIVING, surrogates);
}

/** Python reads JSON's escapes, but a pair of surrogates is not one character there. */
export function quotePython(text: string): string {
  return JSON.stringify(text).replace(
    DECEIVING,
    (character) => `\\U${hex(character.codePointAt(0) ?? 0, 8)}`,
  );
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function surrogates(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${hex(unit.charCodeAt(0), 4)}`)
    .join('');
}

function octal(character: string): string {
  return Array.from(
    new TextEncoder().encode(character),
    (byte) => `\\0${byte.toString(8).padStart(3, '0')}`,
  ).join('');
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0');
}
