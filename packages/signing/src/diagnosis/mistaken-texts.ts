/** The texts that signers sign by mistake, each with the mistake. The most common ones come first. */
import type { SigningReasonName } from '@gatehouse/errors';
import { compareCodePoints } from '../compare-code-points.ts';
import type { Digest } from '../signature-algorithm.ts';
import { signedPart } from '../signed-part.ts';
import type { FailedRequest } from './diagnose-signature.ts';

/** A text, and the mistakes of a signer who signs it. */
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
  const changed = (name: keyof typeof lineIndexes, text: string) =>
    lines.with(lineIndexes[name], text);
  const target = query === '' ? path : `${path}?${query}`;
  const targetAsPath = changed('path', target);
  const mediaType = contentType.split(';', 1)[0]?.trim() ?? '';
  const types = [mediaType, '', 'application/json', 'application/json; charset=utf-8'];
  const right = lines.join('\n');
  const texts: readonly MistakenText[] = [
    ...queryLines(query).map(([text, mistake]) => written(changed('query', text), mistake)),
    ...bodyLines(request, digest).map(([text, mistake]) => written(changed('body', text), mistake)),
    ...types.map((type) => written(changed('contentType', type), 'content_type_not_as_sent')),
    written(targetAsPath.with(lineIndexes.query, ''), 'path_not_as_sent'),
    written(targetAsPath, 'path_not_as_sent'),
    written(changed('path', decoded(path) ?? path), 'path_not_as_sent'),
    written(changed('method', method.toLowerCase()), 'method_not_as_sent'),
    written(changed('timestamp', timestamp.slice(0, 10)), 'timestamp_signed_in_seconds'),
    written(lines.toSpliced(lineIndexes.timestamp, 1), 'timestamp_not_signed'),
    written(lines.toSpliced(lineIndexes.timestamp, 2, nonce, timestamp), 'parts_in_wrong_order'),
    written(lines.slice(1), 'line_missing'),
    written(lines.slice(0, -1), 'line_missing'),
    written(
      lines.filter((line) => line !== ''),
      'line_missing',
    ),
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

const written = (lines: readonly string[], mistake: SigningReasonName): MistakenText => [
  lines.join('\n'),
  mistake,
];

function queryLines(query: string): readonly (readonly [string, SigningReasonName])[] {
  if (query === '') {
    return [];
  }
  const sorted = query.split('&').toSorted(byKey).join('&');
  const spellings = [
    decoded(query),
    decoded(query.replaceAll('+', ' ')),
    sorted,
    decoded(sorted.replaceAll('+', ' ')),
    `?${query}`,
  ];
  return [
    ['', 'query_not_signed'],
    ...spellings
      .filter((text) => text !== undefined)
      .map((text) => [text, 'query_not_as_sent'] as const),
  ];
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

/** The texts of a query or form. */
function parameterTexts(sent: string, right: string): readonly MistakenText[] {
  const given = sent.split('&').filter((pair) => pair !== '');
  const raw = given.map((pair) => (pair.includes('=') ? pair : `${pair}=`));
  const pairs = raw.map((pair) => decoded(pair.replaceAll('+', ' ')) ?? pair);
  const literal = raw.map((pair) => decoded(pair) ?? pair);
  const sorted = (texts: readonly string[]) => texts.toSorted(byKey);
  const percent = sorted(pairs).map((pair) => encodeURIComponent(pair).replace('%3D', '='));
  return [
    [joinValues(pairs).join('&'), 'parameters_unsorted'],
    [sorted(pairs).join('&'), 'parameters_not_joined'],
    [right.replaceAll(' ', '+'), 'parameters_plus_for_space'],
    [sorted(joinValues(literal)).join('&'), 'parameters_plus_for_space'],
    [sorted(joinValues(raw)).join('&'), 'parameters_encoded'],
    [percent.join('&'), 'parameters_encoded'],
    [percent.join('&').replaceAll('%20', '+'), 'parameters_encoded', 'parameters_plus_for_space'],
    [pairs.join('&'), 'parameters_unsorted', 'parameters_not_joined'],
    [sent, 'parameters_unsorted', 'parameters_encoded'],
    // As most locales sort.
    [joinValues(pairs).toSorted(byKeyIgnoringCase).join('&'), 'parameters_unsorted'],
  ];
}

const keyOf = (pair: string) => pair.split('=', 1)[0] ?? '';
const byKey = (a: string, b: string) => compareCodePoints(keyOf(a), keyOf(b));
const byKeyIgnoringCase = (a: string, b: string) => byKey(a.toLowerCase(), b.toLowerCase());

function joinValues(pairs: readonly string[]): readonly string[] {
  const joined = new Map<string, string>();
  for (const pair of pairs) {
    const earlier = joined.get(keyOf(pair));
    const value = pair.slice(keyOf(pair).length + 1);
    joined.set(keyOf(pair), earlier === undefined ? value : `${earlier},${value}`);
  }
  return [...joined].map(([key, value]) => `${key}=${value}`);
}

const STRING = '"(?:[^"\\\\]|\\\\.)*"';
const STRING_OR_SPACE = new RegExp(`(${STRING})|\\s+`, 'g');
const STRING_OR_SEPARATOR = new RegExp(`(${STRING})|([,:])`, 'g');
/** Indentation makes deep JSON quadratically longer. */
const MAXIMUM_INDENTED_BRACKETS = 32;
const MAXIMUM_SPELLING_LENGTH = 16 * 1024;

/** The same JSON as common libraries write it. Nothing if the text is not JSON, or too deep. */
function jsonSpellings(text: string): readonly string[] {
  try {
    return spellings(text, JSON.parse(text)).filter(
      ({ length }) => length <= MAXIMUM_SPELLING_LENGTH,
    );
  } catch {
    return [];
  }
}

function spellings(text: string, value: unknown): readonly string[] {
  const compact = JSON.stringify(value);
  const sorted = JSON.stringify(value, withSortedKeys);
  const brackets = text.match(/[[{]/g)?.length ?? 0;
  return [
    withSpaces(asciiOnly(compact)), // Python: json.dumps
    text.replace(STRING_OR_SPACE, '$1'),
    compact, // JavaScript, Java, C#
    asciiOnly(compact).replaceAll('/', '\\/'), // PHP: json_encode
    sorted, // Go: json.Marshal of a map
    withSpaces(compact), // Python: json.dumps(ensure_ascii=False)
    withSpaces(asciiOnly(sorted)), // Python: json.dumps(sort_keys=True)
    asciiOnly(compact),
    ...(brackets > MAXIMUM_INDENTED_BRACKETS ? [] : [JSON.stringify(value, undefined, 2)]),
  ];
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

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
