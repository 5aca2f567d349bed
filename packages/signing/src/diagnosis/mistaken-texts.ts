/** The texts that signers sign by mistake, each with the mistake. The most common ones come first. */
import type { SigningReasonName } from '@gatehouse/errors';
import type { Digest } from '../signature.ts';
import { compareCodePoints, decodeForm, decodeOnce, signedPart } from '../version-1-text.ts';
import type { FailedRequest } from './diagnose-signature.ts';

/** A wrong text, and the mistakes that produce it. */
export type MistakenText = readonly [text: string, ...mistakes: readonly SigningReasonName[]];

/** @param right the text that version 1 signs */
export function version1Texts(request: FailedRequest, right: string): readonly MistakenText[] {
  const { method, contentType, path, query } = request;
  const part = signedPart(method, contentType);
  const body = textOf(request.body);
  if (part === 'body') {
    return right === '' ? [...emptyValues, [path, 'path_included']] : bodyTexts(path, body);
  }
  if (part === 'form' && /^\s*[[{]/.test(body)) {
    return [body, `${body}\n`, ...jsonSpellings(body)].map((text) => [text, 'form_type_on_json']);
  }
  const sent = part === 'query' ? query : body;
  return [
    ...parameterTexts(sent, right),
    ['', part === 'query' ? 'query_not_signed' : 'body_not_signed'],
    [`${right}\n`, 'line_endings'],
    [`${sent}\n`, 'line_endings', 'parameters_encoded'],
    [`?${sent}`, 'path_included'],
    [`${path}?${sent}`, 'path_included'],
    [`${path}?${right}`, 'path_included'],
    [path + right, 'path_included'],
    ...(sent === '' ? emptyValues : []),
  ];
}

/** @param lines the lines that version 2 signs */
export function version2Texts(
  request: FailedRequest,
  lines: readonly string[],
  digest: Digest,
): readonly MistakenText[] {
  const { method, path, query, contentType, timestamp, nonce } = request;
  const right = lines.join('\n');
  const written = (mistake: SigningReasonName, wrong: readonly string[]): MistakenText => [
    wrong.join('\n'),
    mistake,
  ];
  const changed = (mistake: SigningReasonName, line: keyof typeof lineIndexes, text: string) =>
    written(mistake, lines.with(lineIndexes[line], text));
  const target = query === '' ? path : `${path}?${query}`;
  const mediaType = contentType.split(';', 1)[0]?.trim() ?? '';
  const types = [mediaType, '', 'application/json', 'application/json; charset=utf-8'];
  const texts: readonly MistakenText[] = [
    changed('query_not_signed', 'query', ''),
    ...wrongQueries(query).map((text) => changed('query_not_as_sent', 'query', text)),
    ...bodyLines(request, digest).map(([text, mistake]) => changed(mistake, 'body', text)),
    ...types.map((type) => changed('content_type_not_as_sent', 'contentType', type)),
    written('path_not_as_sent', lines.toSpliced(lineIndexes.path, 2, target, '')),
    changed('path_not_as_sent', 'path', target),
    changed('path_not_as_sent', 'path', decoded(path)),
    changed('method_not_as_sent', 'method', method.toLowerCase()),
    changed('timestamp_signed_in_seconds', 'timestamp', timestamp.slice(0, 10)),
    written('timestamp_not_signed', lines.toSpliced(lineIndexes.timestamp, 1)),
    written('parts_in_wrong_order', lines.toSpliced(lineIndexes.timestamp, 2, nonce, timestamp)),
    written('line_missing', lines.slice(1)),
    written('line_missing', lines.slice(0, -1)),
    written('line_missing', lines.filter(Boolean)),
    [`${right}\n`, 'lines_joined_differently'],
    [lines.join('\r\n'), 'lines_joined_differently'],
    [lines.join(''), 'lines_joined_differently'],
  ];
  return texts.filter(([text]) => text !== right);
}

const lineIndexes = {
  method: 1,
  path: 2,
  query: 3,
  contentType: 4,
  body: 5,
  timestamp: 7,
} as const;

function wrongQueries(query: string): readonly string[] {
  const ordered = write(sorted(query.split('&').map(toPair)));
  const plain = [query, ordered].flatMap((text) => [decoded(text), decodedForm(text)]);
  return query === '' ? [] : [...plain, ordered, `?${query}`];
}

/** The line of the body: the SHA-256 of a wrong text, or no SHA-256. */
function bodyLines(
  request: FailedRequest,
  digest: Digest,
): readonly (readonly [string, SigningReasonName])[] {
  const body = textOf(request.body);
  const hash = (text: string) => digest('SHA-256', [text]);
  const wrong = body === '' ? emptyValues : bodyTexts(request.path, body);
  return [
    [body, 'body_not_hashed'],
    [hash(body).toUpperCase(), 'body_not_hashed'],
    ...wrong.map(([text, mistake = 'body_not_signed']) => [hash(text), mistake] as const),
  ];
}

const emptyValues: readonly MistakenText[] = [
  ['{}', 'empty_body_as_json'],
  ['null', 'empty_body_as_json'],
];

function bodyTexts(path: string, body: string): readonly MistakenText[] {
  const lines = body.replaceAll('\r\n', '\n');
  const spellings = jsonSpellings(body).map(
    (text): MistakenText => [text, 'json_serialized_again'],
  );
  return [
    ...spellings,
    ['', 'body_not_signed'],
    [`${body}\n`, 'line_endings'],
    [body.trimEnd(), 'line_endings'],
    [lines, 'line_endings'],
    [lines.replaceAll('\n', '\r\n'), 'line_endings'],
    [path + body, 'path_included'],
    [`\ufeff${body}`, 'body_not_utf8'],
  ];
}

type Pair = readonly [key: string, value: string];

/** The texts of a query or form. */
function parameterTexts(sent: string, right: string): readonly MistakenText[] {
  const raw = sent.split('&').filter((pair) => pair !== '');
  const given = raw.map(toPair);
  const pairs = raw.map((pair) => toPair(decodedForm(pair)));
  const literal = raw.map((pair) => toPair(decoded(pair)));
  const percent = write(
    sorted(pairs.map(([key, value]): Pair => [encodeURIComponent(key), encodeURIComponent(value)])),
  );
  return [
    [write(joinValues(pairs)), 'parameters_unsorted'],
    [write(sorted(pairs)), 'parameters_not_joined'],
    [right.replaceAll(' ', '+'), 'parameters_plus_for_space'],
    [write(sorted(joinValues(literal))), 'parameters_plus_for_space'],
    [write(sorted(joinValues(given))), 'parameters_encoded'],
    [percent, 'parameters_encoded'],
    [percent.replaceAll('%20', '+'), 'parameters_encoded', 'parameters_plus_for_space'],
    [write(pairs), 'parameters_unsorted', 'parameters_not_joined'],
    [sent, 'parameters_unsorted', 'parameters_encoded'],
    // As most locales sort.
    [write(sorted(joinValues(pairs), (key) => key.toLowerCase())), 'parameters_unsorted'],
  ];
}

function toPair(text: string): Pair {
  const [key = ''] = text.split('=', 1);
  return [key, text.slice(key.length + 1)];
}

const write = (pairs: readonly Pair[]) => pairs.map(([key, value]) => `${key}=${value}`).join('&');

const sorted = (pairs: readonly Pair[], by = (key: string) => key) =>
  pairs.toSorted(([a], [b]) => compareCodePoints(by(a), by(b)));

function joinValues(pairs: readonly Pair[]): readonly Pair[] {
  const joined = new Map<string, string>();
  for (const [key, value] of pairs) {
    const earlier = joined.get(key);
    joined.set(key, earlier === undefined ? value : `${earlier},${value}`);
  }
  return [...joined];
}

const STRING = '"(?:[^"\\\\]|\\\\.)*"';
const STRING_OR_SPACE = new RegExp(`(${STRING})|\\s+`, 'g');
const STRING_OR_SEPARATOR = new RegExp(`(${STRING})|([,:])`, 'g');
/** Indentation makes deep JSON quadratically longer. */
const MAXIMUM_INDENTED_BRACKETS = 32;
const MAXIMUM_SPELLING_LENGTH = 8 * 1024;

/** The same JSON as common libraries write it. Nothing if the text is not JSON, or too deep. */
function jsonSpellings(text: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(text);
    const compact = JSON.stringify(value);
    const inOrder = JSON.stringify(value, withSortedKeys);
    const brackets = text.match(/[[{]/g)?.length ?? 0;
    const indentation = brackets > MAXIMUM_INDENTED_BRACKETS ? 0 : 2;
    return [
      withSpaces(asciiOnly(compact)), // Python: json.dumps
      text.replace(STRING_OR_SPACE, '$1'),
      compact, // JavaScript, Java, C#
      asciiOnly(compact).replaceAll('/', '\\/'), // PHP: json_encode
      inOrder, // Go: json.Marshal of a map
      withSpaces(compact), // Python: json.dumps(ensure_ascii=False)
      withSpaces(asciiOnly(inOrder)), // Python: json.dumps(sort_keys=True)
      JSON.stringify(value, undefined, indentation),
    ].filter(({ length }) => length <= MAXIMUM_SPELLING_LENGTH);
  } catch {
    return [];
  }
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
  return json.replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function textOf(body: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(body);
}

// The text itself if it cannot be decoded.
const decoded = (text: string) => decodeOnce(text) ?? text;
const decodedForm = (text: string) => decodeForm(text) ?? text.replaceAll('+', ' ');
