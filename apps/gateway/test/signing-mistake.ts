/** What a signer with a mistake signs, and what it sends: a case of signing-mistakes.slow.test.ts. */

export interface Corpus {
  readonly clientId: string;
  readonly secureKey: string;
}

/**
 * A job of a signer. Each part starts with a letter: `=` literal, `s` sorted parameters, `u`
 * URL-encoded parameters, `j` JSON of parameters, `h` and `H` the SHA-256 of a text or of JSON.
 */
export interface Job {
  readonly algorithm: string;
  readonly encoding: string;
  readonly key: string;
  readonly parts: readonly string[];
}

export interface Scene {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly signatureHeader: string;
  readonly job: Job;
}

export interface Mistake {
  readonly version: 1 | 2;
  readonly name: string;
  /** The right causes. A mistake that has two descriptions has two. */
  readonly causes: readonly string[];
  scene(corpus: Corpus, timestamp: string): Scene;
}

/** The values that a signer works with. */
export interface Values {
  readonly time: string;
  readonly key: string;
  readonly nonce: string;
  readonly id: string;
}

/** A request, and what is different from a GET with the plain query. */
export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly type?: string;
  readonly body?: string;
  readonly headers?: (values: Values) => Readonly<Record<string, string>>;
}

export const nonce = 'q83vEjRWeJCrze8S';
export const plain = 'pageSize=20&pageIndex=0';
export const sorted = 'pageIndex=0&pageSize=20';
export const spaced = 'pageSize=20&where=name%20like%20%25caf%C3%A9%25';
export const decoded = 'pageSize=20&where=name like %café%';
export const members = 'name=café 1/2&id=d1';
export const json = '{"name":"café 1/2","id":"d1"}';
export const post: Sent = { method: 'POST', path: '/device-instance', type: 'application/json' };
export const create: Sent = { ...post, body: json };
export const lined: Sent = { ...post, body: '{"id":"d1",\n"name":"D 1"}' };
export const form = 'application/x-www-form-urlencoded';

function scene(version: 1 | 2, sent: Sent, values: Values, job: Job): Scene {
  const { method = 'GET', path = '/api/device', body } = sent;
  const query = sent.query ?? (method === 'GET' ? plain : '');
  return {
    method,
    target: query === '' ? path : `${path}?${query}`,
    headers: {
      'X-Client-Id': values.id,
      'X-Timestamp': values.time,
      ...(version === 2 && { 'X-Nonce': nonce }),
      ...(sent.type !== undefined && { 'Content-Type': sent.type }),
      ...sent.headers?.(values),
    },
    body,
    signatureHeader: version === 1 ? 'X-Sign' : 'X-Sign-V2',
    job,
  };
}

export type Parts = (values: Values) => readonly string[];

export interface Options {
  readonly algorithm?: string;
  readonly encoding?: string;
  /** The key of an HMAC. */
  readonly key?: (values: Values) => string;
}

export function mistake(
  version: 1 | 2,
  name: string,
  causes: readonly string[],
  sent: Sent,
  parts: Parts,
  options: Options = {},
): Mistake {
  return {
    version,
    name,
    causes,
    scene({ clientId: id, secureKey: key }, time) {
      const values = { time, key, nonce, id };
      return scene(version, sent, values, {
        algorithm: options.algorithm ?? (version === 1 ? 'sha256' : 'hmac'),
        encoding: options.encoding ?? 'hex',
        key: options.key?.(values) ?? key,
        parts: parts(values),
      });
    },
  };
}

/** Version 1: the text, the timestamp and the secure key. */
export const over =
  (...text: readonly string[]): Parts =>
  ({ time, key }) => [...text, `=${time}`, `=${key}`];

export const textOnly =
  (text: string): Parts =>
  ({ time }) => [text, `=${time}`];

export interface Lines {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly type?: string;
  /** A part of the job. */
  readonly body?: string;
  readonly time?: string;
}

/** The nine lines as parts of a job. */
export function linesOf(sent: Sent, values: Values, change: Lines = {}): readonly string[] {
  const { method = 'GET', path = '/api/device', type = '' } = sent;
  const query = sent.query ?? (method === 'GET' ? plain : '');
  return [
    '=GATEHOUSE-V2',
    `=${change.method ?? method}`,
    `=${change.path ?? path}`,
    `=${change.query ?? query}`,
    `=${change.type ?? type}`,
    change.body ?? `h${sent.body ?? ''}`,
    `=${values.id}`,
    `=${change.time ?? values.time}`,
    `=${nonce}`,
  ];
}

export const joined = (lines: readonly string[], separator = '\n') =>
  lines.flatMap((line, index) => (index === 0 ? [line] : [`=${separator}`, line]));
