import type { FailedRequest } from './failed-request.ts';
import { interleave } from './interleave.ts';
import { jsonSpellings } from './json-spellings.ts';
import { newlineTexts } from './newline-texts.ts';
import { type ParameterSpelling, spellParameters } from './parameter-spellings.ts';
import type { SigningMistake } from './signing-mistake.ts';
import { MAXIMUM_SPELLED_LENGTH } from './work-limit.ts';

/** Lines that a signer may have signed instead of the right ones. */
export interface MistakenLines {
  readonly mistakes: readonly SigningMistake[];
  readonly lines: readonly string[];
  /** Default: a line feed. */
  readonly separator?: string;
  /** A text whose digest replaces the line of the body. */
  readonly hashed?: string;
}

/** The indexes of the lines. */
const METHOD = 1;
const PATH = 2;
const QUERY = 3;
const CONTENT_TYPE = 4;
const BODY = 5;
const TIMESTAMP = 7;
const NONCE = 8;

/** The most common mistakes first, each once. */
export function mistakenLines(
  request: FailedRequest,
  lines: readonly string[],
): readonly MistakenLines[] {
  const all = interleave(
    [2, queryLines(request, lines)],
    [3, bodyLines(request, lines)],
    [1, contentTypeLines(request, lines)],
    [2, otherLines(request, lines)],
  );
  const body = bodyText(request);
  const seen = new Set([identityOf({ mistakes: [], lines })]);
  return [...all].filter((each) => {
    const identity = identityOf(each);
    return each.hashed !== body && !seen.has(identity) && seen.add(identity);
  });
}

function identityOf({ lines, separator = '\n', hashed }: MistakenLines): string {
  return JSON.stringify([hashed, lines.join(separator)]);
}

const querySpellings: readonly ParameterSpelling[] = [
  { order: 'as sent', isJoined: false },
  {},
  { encoding: 'as sent', isJoined: false },
];

function queryLines({ query }: FailedRequest, lines: readonly string[]): MistakenLines[] {
  if (query === '') {
    return [];
  }
  return [
    ...querySpellings.flatMap((spelling) => {
      const text = spellParameters(query, spelling);
      return text === undefined ? [] : [changed(lines, 'query_not_as_sent', QUERY, text)];
    }),
    changed(lines, 'query_not_signed', QUERY, ''),
    changed(lines, 'query_question_mark', QUERY, `?${query}`),
  ];
}

function bodyLines(request: FailedRequest, lines: readonly string[]): MistakenLines[] {
  const text = bodyText(request);
  if (text === '') {
    const values = request.method === 'GET' || request.method === 'HEAD' ? [] : ['{}', 'null'];
    return [
      changed(lines, 'body_not_hashed', BODY, ''),
      ...values.map(
        (hashed): MistakenLines => ({ mistakes: ['empty_body_as_json'], lines, hashed }),
      ),
    ];
  }
  const notSigned: MistakenLines = { mistakes: ['body_not_signed'], lines, hashed: '' };
  if (text.length > MAXIMUM_SPELLED_LENGTH) {
    return [notSigned];
  }
  const [first, second, ...others] = jsonSpellings(text).map(
    (hashed): MistakenLines => ({ mistakes: ['json_serialized_again'], lines, hashed }),
  );
  return [
    changed(lines, 'body_not_hashed', BODY, text),
    notSigned,
    ...(first === undefined ? [] : [first]),
    ...(second === undefined ? [] : [second]),
    ...newlineTexts(text).map(({ mistakes, text: hashed }) => ({ mistakes, lines, hashed })),
    ...others,
    changed(lines, 'body_not_hashed', BODY, (lines[BODY] ?? '').toUpperCase()),
  ];
}

function contentTypeLines(
  { contentType }: FailedRequest,
  lines: readonly string[],
): MistakenLines[] {
  const [mediaType = ''] = contentType.split(';');
  const json = 'application/json';
  const texts = contentType === '' ? [json] : ['', mediaType.trim(), `${json}; charset=utf-8`];
  return texts.map((text) => changed(lines, 'content_type_not_as_sent', CONTENT_TYPE, text));
}

function otherLines(request: FailedRequest, lines: readonly string[]): MistakenLines[] {
  const { method, path, query, timestamp, nonce } = request;
  const target = query === '' ? path : `${path}?${query}`;
  const withTarget = changed(lines, 'path_not_as_sent', PATH, target);
  return [
    { mistakes: ['lines_joined_differently'], lines: [...lines, ''] },
    changed(withTarget.lines, 'path_not_as_sent', QUERY, ''),
    { mistakes: ['line_missing'], lines: lines.filter((line) => line !== '') },
    changed(lines, 'timestamp_signed_in_seconds', TIMESTAMP, timestamp.slice(0, 10)),
    changed(lines, 'method_not_as_sent', METHOD, method.toLowerCase()),
    { mistakes: ['line_missing'], lines: lines.slice(1) },
    { mistakes: ['timestamp_not_signed'], lines: lines.toSpliced(TIMESTAMP, 1) },
    { mistakes: ['lines_joined_differently'], lines, separator: '\r\n' },
    {
      mistakes: ['parts_in_wrong_order'],
      lines: lines.toSpliced(TIMESTAMP, 2, nonce, timestamp),
    },
    { mistakes: ['line_missing'], lines: lines.slice(0, NONCE) },
    withTarget,
    changed(lines, 'path_not_as_sent', PATH, decoded(path)),
    { mistakes: ['lines_joined_differently'], lines, separator: '' },
  ];
}

function changed(
  lines: readonly string[],
  mistake: SigningMistake,
  index: number,
  text: string,
): MistakenLines {
  return { mistakes: [mistake], lines: lines.with(index, text) };
}

function bodyText({ body }: FailedRequest): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(body);
}

/** The gateway has checked the escapes of the path. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
