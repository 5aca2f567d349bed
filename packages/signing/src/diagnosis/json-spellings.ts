import { MAXIMUM_SPELLED_LENGTH } from './work-limit.ts';

const STRING = '"(?:[^"\\\\]|\\\\.)*"';
const STRING_OR_SPACE = new RegExp(`(${STRING})|\\s+`, 'g');
const STRING_OR_SEPARATOR = new RegExp(`(${STRING})|([,:])`, 'g');

/** Indentation makes deep JSON quadratically longer. */
const MAXIMUM_DEPTH = 32;

/** The same JSON as common libraries write it. Nothing if the text is long, deep or not JSON. */
export function jsonSpellings(text: string): readonly string[] {
  if (text.length > MAXIMUM_SPELLED_LENGTH || depthOf(text) > MAXIMUM_DEPTH) {
    return [];
  }
  try {
    const value: unknown = JSON.parse(text);
    const compact = text.replace(STRING_OR_SPACE, '$1');
    const written = JSON.stringify(value);
    const sorted = JSON.stringify(value, withSortedKeys);
    return [
      withSpaces(asciiOnly(written)), // Python: json.dumps
      compact,
      asciiOnly(written).replaceAll('/', '\\/'), // PHP: json_encode
      sorted,
      written, // JavaScript, Java, C#
      withSpaces(asciiOnly(sorted)), // Python: json.dumps(sort_keys=True)
      JSON.stringify(value, undefined, 2),
      withSpaces(written), // Python: json.dumps(ensure_ascii=False)
      asciiOnly(written),
      JSON.stringify(value, undefined, 4),
      withoutHtml(sorted), // Go: json.Marshal of a map
    ];
  } catch {
    // Not JSON.
    return [];
  }
}

/** At least the depth of the JSON: brackets in strings count too. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const character of text) {
    if (character === '[' || character === '{') {
      depth += 1;
      deepest = Math.max(deepest, depth);
    } else if (character === ']' || character === '}') {
      depth -= 1;
    }
  }
  return deepest;
}

function withSortedKeys(_key: string, value: unknown): unknown {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
}

function withSpaces(compact: string): string {
  return compact.replace(STRING_OR_SEPARATOR, (_all, string, separator) =>
    separator === undefined ? string : `${separator} `,
  );
}

/** Characters outside ASCII occur only in strings, where an escape has the same meaning. */
function asciiOnly(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, escapeUnit);
}

function withoutHtml(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, escapeUnit);
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
