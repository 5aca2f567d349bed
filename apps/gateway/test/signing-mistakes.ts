/** The corpus of signing-mistakes.slow.test.ts: what a signer signs, and what it sends. */

export interface Corpus {
  readonly clientId: string;
  readonly secureKey: string;
  /** A secure key that the client had before. */
  readonly removed: string;
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
interface Values {
  readonly time: string;
  readonly key: string;
  readonly removed: string;
  readonly nonce: string;
  readonly id: string;
}

/** A request, and what is different from a GET with the plain query. */
interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly type?: string;
  readonly body?: string;
  readonly headers?: (values: Values) => Readonly<Record<string, string>>;
}

const nonce = 'q83vEjRWeJCrze8S';
const plain = 'pageSize=20&pageIndex=0';
const sorted = 'pageIndex=0&pageSize=20';
const spaced = 'pageSize=20&where=name%20like%20%25caf%C3%A9%25';
const decoded = 'pageSize=20&where=name like %café%';
const members = 'name=café 1/2&id=d1';
const json = '{"name":"café 1/2","id":"d1"}';
const post: Sent = { method: 'POST', path: '/device-instance', type: 'application/json' };
const create: Sent = { ...post, body: json };
const lined: Sent = { ...post, body: '{"id":"d1",\n"name":"D 1"}' };
const form = 'application/x-www-form-urlencoded';

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

type Parts = (values: Values) => readonly string[];

interface Options {
  readonly algorithm?: string;
  readonly encoding?: string;
  /** The key of an HMAC. */
  readonly key?: (values: Values) => string;
}

function mistake(
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
    scene({ clientId: id, secureKey: key, removed }, time) {
      const values = { time, key, removed, nonce, id };
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
const over =
  (...text: readonly string[]): Parts =>
  ({ time, key }) => [...text, `=${time}`, `=${key}`];

const textOnly =
  (text: string): Parts =>
  ({ time }) => [text, `=${time}`];

const one = (
  name: string,
  causes: readonly string[],
  sent: Sent,
  parts: Parts,
  options?: Options,
) => mistake(1, name, causes, sent, parts, options);

const version1: readonly Mistake[] = [
  one('unsorted query', ['parameters_unsorted'], {}, over(`=${plain}`)),
  one(
    'encoded values',
    ['parameters_encoded', 'parameters_encoded and parameters_plus_for_space'],
    { query: spaced },
    over(`u${decoded}`),
  ),
  one(
    'the query as sent',
    ['parameters_unsorted and parameters_encoded'],
    { query: 'where=a%20b&a=1' },
    over('=where=a%20b&a=1'),
  ),
  one('plus for space', ['parameters_plus_for_space'], { query: 'a=b%20c' }, over('=a=b+c')),
  one('a literal plus', ['parameters_plus_for_space'], { query: 'a=b+c' }, over('=a=b+c')),
  one('values not joined', ['parameters_not_joined'], { query: 'a=1&a=2' }, over('=a=1&a=2')),
  one('query missing', ['query_left_out'], {}, over()),
  one('question mark', ['query_question_mark'], {}, over(`=?${plain}`)),
  one('path and query', ['path_included'], {}, over(`=/api/device?${plain}`)),
  one('path of a GET without query', ['path_included'], { query: '' }, over('=/api/device')),
  one('path and body', ['path_included'], create, over(`=/device-instance${json}`)),
  one('no timestamp', ['timestamp_left_out'], {}, ({ key }) => [`s${plain}`, `=${key}`]),
  one('no key', ['key_left_out'], {}, textOnly(`s${plain}`)),
  one('key first', ['parts_in_another_order'], {}, ({ time, key }) => [
    ...[`=${key}`, `s${plain}`, `=${time}`],
  ]),
  one('time first', ['parts_in_another_order'], {}, ({ time, key }) => [
    ...[`=${time}`, `s${plain}`, `=${key}`],
  ]),
  one('time last', ['parts_in_another_order'], {}, ({ time, key }) => [
    ...[`s${plain}`, `=${key}`, `=${time}`],
  ]),
  one('signed seconds', ['timestamp_signed_in_seconds'], {}, ({ time, key }) => [
    ...[`s${plain}`, `=${time.slice(0, 10)}`, `=${key}`],
  ]),
  one(
    'sent seconds',
    ['timestamp_in_seconds'],
    { headers: ({ time }) => ({ 'X-Timestamp': time.slice(0, 10) }) },
    ({ time, key }) => [`s${plain}`, `=${time.slice(0, 10)}`, `=${key}`],
  ),
  one('MD5', ['wrong_digest'], {}, over(`s${plain}`), { algorithm: 'md5' }),
  one('SHA-1', ['signature_sha1'], {}, over(`s${plain}`), { algorithm: 'sha1' }),
  one('HMAC', ['hmac_in_version_1'], {}, textOnly(`s${plain}`), { algorithm: 'hmac' }),
  one('Base64', ['signature_base64'], {}, over(`s${plain}`), { encoding: 'base64' }),
  one('Base64url', ['signature_base64'], {}, over(`s${plain}`), { encoding: 'base64url' }),
  one('JSON written again', ['json_serialized_again'], create, over(`j${members}`)),
  one(
    'slashes escaped',
    ['json_serialized_again'],
    create,
    over('={"name":"caf\\u00e9 1\\/2","id":"d1"}'),
  ),
  one('line feed after the body', ['trailing_newline'], create, over(`=${json}\n`)),
  one('line feed after the text', ['trailing_newline'], {}, over(`s${plain}`, '=\n')),
  one('CR LF', ['line_endings'], lined, over('={"id":"d1",\r\n"name":"D 1"}')),
  one('byte order mark signed', ['body_byte_order_mark'], create, over(`=\ufeff${json}`)),
  one(
    'byte order mark sent',
    ['body_byte_order_mark'],
    { ...post, body: `\ufeff${json}` },
    over(`=\ufeff${json}`),
  ),
  one('form type on JSON', ['form_type_on_json'], { ...create, type: form }, over(`=${json}`)),
  one(
    'form as sent',
    ['parameters_encoded'],
    { ...post, type: form, body: 'a=%20b' },
    over('=a=%20b'),
  ),
  one('body missing', ['body_left_out'], create, over()),
  one('{} for no body', ['empty_body_as_json'], post, over('={}')),
  one('null for no body', ['empty_body_as_json'], post, over('=null')),
  one('query on POST', ['query_with_signed_body'], { ...create, query: 'a=1' }, over('=a=1')),
  one(
    'body on GET',
    ['body_with_signed_query'],
    { body: '{}', headers: () => ({ 'Content-Length': '2' }) },
    over('={}'),
  ),
  one('removed key', ['key_removed'], {}, ({ time, removed }) => [
    ...[`s${plain}`, `=${time}`, `=${removed}`],
  ]),
  one('line feed after the key', ['key_whitespace'], {}, ({ time, key }) => [
    ...[`s${plain}`, `=${time}`, `=${key}\n`],
  ]),
  one('unsorted HMAC', ['parameters_unsorted and hmac_in_version_1'], {}, textOnly(`=${plain}`), {
    algorithm: 'hmac',
  }),
  one('unsorted MD5', ['parameters_unsorted and wrong_digest'], {}, over(`=${plain}`), {
    algorithm: 'md5',
  }),
  one(
    'lines of version 2',
    ['version_2_text_in_version_1'],
    { headers: () => ({ 'X-Nonce': nonce }) },
    (values) => joined(linesOf({}, values)),
    { algorithm: 'hmac' },
  ),
];

interface Lines {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly type?: string;
  /** A part of the job. */
  readonly body?: string;
  readonly time?: string;
}

/** The nine lines as parts of a job. */
function linesOf(sent: Sent, values: Values, change: Lines = {}): readonly string[] {
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

const joined = (lines: readonly string[], separator = '\n') =>
  lines.flatMap((line, index) => (index === 0 ? [line] : [`=${separator}`, line]));

const two = (
  name: string,
  causes: readonly string[],
  sent: Sent,
  change: Lines | ((v: Values) => Lines),
) =>
  mistake(2, name, causes, sent, (values) =>
    joined(linesOf(sent, values, typeof change === 'function' ? change(values) : change)),
  );

const other = (name: string, causes: readonly string[], parts: Parts, options?: Options) =>
  mistake(2, name, causes, {}, parts, options);

const version2: readonly Mistake[] = [
  two('decoded query', ['query_not_as_sent'], { query: spaced }, { query: decoded }),
  two('sorted query', ['query_not_as_sent'], {}, { query: sorted }),
  two('query missing', ['query_left_out'], {}, { query: '' }),
  two('question mark', ['query_question_mark'], {}, { query: `?${plain}` }),
  two('target as path', ['path_not_as_sent'], {}, { path: `/api/device?${plain}`, query: '' }),
  two('method in lower case', ['method_not_as_sent'], {}, { method: 'get' }),
  two('type of a GET', ['content_type_not_as_sent'], {}, { type: 'application/json' }),
  two('type missing', ['content_type_not_as_sent'], create, { type: '' }),
  two(
    'type without charset',
    ['content_type_not_as_sent'],
    { ...create, type: 'application/json; charset=utf-8' },
    { type: 'application/json' },
  ),
  two('empty line of the body', ['body_not_hashed'], {}, { body: '=' }),
  two('body not hashed', ['body_not_hashed'], create, { body: `=${json}` }),
  two('body missing', ['body_left_out'], create, { body: 'h' }),
  two('JSON written again', ['json_serialized_again'], create, { body: `H${members}` }),
  two('line feed after the body', ['trailing_newline'], create, { body: `h${json}\n` }),
  two('CR LF in the body', ['line_endings'], lined, { body: 'h{"id":"d1",\r\n"name":"D 1"}' }),
  two('{} for no body', ['empty_body_as_json'], post, { body: 'h{}' }),
  two('signed seconds', ['timestamp_signed_in_seconds'], {}, ({ time }) => ({
    time: time.slice(0, 10),
  })),
  other('line feed at the end', ['lines_joined_differently'], (values) => [
    ...joined(linesOf({}, values)),
    '=\n',
  ]),
  other('CR LF between lines', ['lines_joined_differently'], (values) =>
    joined(linesOf({}, values), '\r\n'),
  ),
  other('no first line', ['line_left_out'], (values) => joined(linesOf({}, values).slice(1))),
  other('no empty line', ['line_left_out'], (values) =>
    joined(linesOf({}, values).filter((line) => line !== '=')),
  ),
  other('no timestamp', ['timestamp_left_out'], (values) =>
    joined(linesOf({}, values).toSpliced(7, 1)),
  ),
  other('nonce before timestamp', ['parts_in_another_order'], (values) => {
    const lines = linesOf({}, values);
    return joined([...lines.slice(0, 7), lines[8] ?? '', lines[7] ?? '']);
  }),
  other(
    'a digest',
    ['digest_in_version_2'],
    (values) => [...joined(linesOf({}, values)), `=${values.key}`],
    { algorithm: 'sha256' },
  ),
  other('Base64', ['signature_base64'], (values) => joined(linesOf({}, values)), {
    encoding: 'base64',
  }),
  other('SHA-1', ['signature_sha1'], (values) => joined(linesOf({}, values)), {
    algorithm: 'sha1',
  }),
  other('line feed after the key', ['key_whitespace'], (values) => joined(linesOf({}, values)), {
    key: ({ key }) => `${key}\n`,
  }),
  other('removed key', ['key_removed'], (values) => joined(linesOf({}, values)), {
    key: ({ removed }) => removed,
  }),
  other('text of version 1', ['version_1_text_in_version_2'], textOnly(`s${plain}`)),
  other('signature of version 1', ['version_1_text_in_version_2'], over(`s${plain}`), {
    algorithm: 'sha256',
  }),
];

export const mistakes: readonly Mistake[] = [...version1, ...version2];
