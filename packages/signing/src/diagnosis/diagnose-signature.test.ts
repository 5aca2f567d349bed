import { hash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { digest, hmac as hmacOf } from '../../test/digests.ts';
import {
  type DiagnosisDigests,
  diagnoseSignature,
  type FailedRequest,
} from './diagnose-signature.ts';

const key = 'kQ3xV7mK9pT2wZ5rB8nD1fG4hJ6kL0sC';
const timestamp = '1574993804802';
const digests = { digest, hmac: hmacOf };

const sha256 = (...parts: readonly string[]) => hash('sha256', parts.join(''), 'hex');
const md5 = (...parts: readonly string[]) => hash('md5', parts.join(''), 'hex');
const hmac = (...parts: readonly string[]) => digests.hmac(key, parts.join(''));

interface Sent {
  readonly method?: string;
  readonly query?: string;
  readonly contentType?: string;
  readonly body?: string;
}

const base = {
  method: 'GET',
  path: '/api/device',
  query: '',
  contentType: '',
  clientId: 'demo',
  timestamp,
};

function diagnose(version: 1 | 2, sent: Sent, signature: string) {
  const { body = '', ...others } = sent;
  const request: FailedRequest = {
    ...base,
    nonce: version === 2 ? nonce : '',
    ...others,
    version,
    signature,
    body: Buffer.from(body),
  };
  return diagnoseSignature(request, { active: [key, 'older'], algorithm: 'SHA-256' }, digests);
}

const nonce = 'q83vEjRWeJCrze8S';
/** The right signature of version 1 over a text. */
const ofText = (text: string) => sha256(text, timestamp, key);
/** The right signature of version 2 over these lines. */
const ofLines = (list: readonly string[]) => hmac(list.join('\n'));
const query = 'pageSize=20&pageIndex=0&where=name%20like%20a';
const right = 'pageIndex=0&pageSize=20&where=name like a';
const get = { query } as const;
const plain = { query: 'pageSize=20&pageIndex=0' } as const;
const rightPlain = 'pageIndex=0&pageSize=20';
const json = '{"name":"café 1/2","id":"d1"}';
const post = { method: 'POST', contentType: 'application/json', body: json } as const;
const ascii = { ...post, body: '{"name":"D 1","id":"d1"}' } as const;
const form = { method: 'POST', contentType: 'application/x-www-form-urlencoded' } as const;
const spaced = { ...post, body: '{"id": 1.0}' } as const;
const charset = 'application/json; charset=utf-8';
const seconds = timestamp.slice(0, 10);
const unsorted = 'pageSize=20&pageIndex=0&where=name like a';
const sortedQuery = 'pageIndex=0&pageSize=20&where=name%20like%20a';

/** The mistakes, separated by spaces, what the signer did, and the request. */
type Mistaken = readonly [mistakes: string, what: string, sent: Sent, signature: string];

const version1: readonly Mistaken[] = [
  ['wrong_digest', 'MD5', get, md5(right, timestamp, key)],
  ['wrong_digest', 'MD5 of a body', post, md5(json, timestamp, key)],
  ['parameters_unsorted', 'the order of the request', get, ofText(unsorted)],
  ['parameters_unsorted wrong_digest', 'with MD5', get, md5(unsorted, timestamp, key)],
  ['parameters_unsorted', 'the order of a locale', { query: 'B=1&a=2&C=3' }, ofText('a=2&B=1&C=3')],
  ['parameters_encoded', 'encoded values', get, ofText(sortedQuery)],
  ['parameters_unsorted parameters_encoded', 'the raw query', get, ofText(query)],
  ['parameters_plus_for_space', 'plus signs', get, ofText(right.replaceAll(' ', '+'))],
  ['parameters_plus_for_space', 'a literal plus', { query: 'a=1+1' }, ofText('a=1+1')],
  ['parameters_plus_for_space', 'both spaces', { query: 'a=1+1%201' }, ofText('a=1+1 1')],
  ['parameters_not_joined', 'repeated keys', { query: 'a=1&a=2&b=3' }, ofText('a=1&a=2&b=3')],
  ['query_not_signed', 'no query', get, ofText('')],
  ['path_included', 'a question mark', get, ofText(`?${query}`)],
  ['path_included', 'the target', get, ofText(`/api/device?${query}`)],
  ['path_included', 'the path', {}, ofText('/api/device')],
  ['line_endings', 'echo', get, ofText(`${right}\n`)],
  ['timestamp_not_signed', 'no timestamp', get, sha256(right, key)],
  ['timestamp_signed_in_seconds', 'seconds', get, sha256(right, seconds, key)],
  ['key_not_used', 'no key', get, sha256(right, timestamp)],
  ['key_whitespace', 'a line feed after the key', get, sha256(right, timestamp, `${key}\n`)],
  ['parts_in_wrong_order', 'the key first', get, sha256(key, right, timestamp)],
  ['parts_in_wrong_order', 'the time first', plain, sha256(timestamp, rightPlain, key)],
  ['parts_in_wrong_order', 'the time last', get, sha256(right, key, timestamp)],
  ['hmac_in_version_1', 'an HMAC', get, hmac(right, timestamp)],
  ['parameters_unsorted hmac_in_version_1', 'both', plain, hmac(plain.query, timestamp)],
  ['body_not_signed', 'no body', post, ofText('')],
  ['line_endings', 'a line feed', post, ofText(`${json}\n`)],
  ['line_endings', 'CR LF', { ...post, body: '{\n"id": "d1"\n}' }, ofText('{\r\n"id": "d1"\r\n}')],
  ['body_not_utf8', 'a byte order mark', post, ofText(`\ufeff${json}`)],
  ['path_included', 'path and body', post, ofText(`/api/device${json}`)],
  ...[
    '{"name": "caf\\u00e9 1/2", "id": "d1"}',
    '{"name":"caf\\u00e9 1\\/2","id":"d1"}',
    '{"id":"d1","name":"café 1/2"}',
    '{\n  "name": "café 1/2",\n  "id": "d1"\n}',
  ].map((text): Mistaken => ['json_serialized_again', text, post, ofText(text)]),
  ...['{}', 'null'].map(
    (text): Mistaken => ['empty_body_as_json', text, { ...post, body: '' }, ofText(text)],
  ),
  ['form_type_on_json', 'JSON', { ...form, body: json }, ofText(json)],
  ['parameters_encoded', 'a form', { ...form, body: 'a=%20&b=1' }, ofText('a=%20&b=1')],
];

interface Lines {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly contentType?: string;
  readonly hashed?: string;
  readonly bodyLine?: string;
}

/** The lines that a signer with a mistake writes. */
function lines(sent: Sent, change: Lines = {}): string[] {
  const { hashed = sent.body ?? '', bodyLine = sha256(hashed), ...others } = change;
  const { method, path, query: asSent, contentType, clientId } = { ...base, ...sent, ...others };
  return ['GATEHOUSE-V2', method, path, asSent, contentType, bodyLine, clientId, timestamp, nonce];
}

const signed = (sent: Sent, change: Lines = {}) => ofLines(lines(sent, change));
const without = (list: readonly string[], index: number) => list.toSpliced(index, 1);

const nonceFirst = [...lines(plain).slice(0, 7), nonce, timestamp];

const version2: readonly Mistaken[] = [
  ['query_not_as_sent', 'a decoded query', get, signed(get, { query: decodeURIComponent(query) })],
  ['query_not_as_sent', 'the text of version 1', get, signed(get, { query: right })],
  ['query_not_as_sent', 'a sorted query', get, signed(get, { query: sortedQuery })],
  ['query_not_signed', 'no query', get, signed(get, { query: '' })],
  ['query_not_as_sent', 'a question mark', get, signed(get, { query: `?${query}` })],
  ['path_not_as_sent', 'the target', get, signed(get, { path: `/api/device?${query}`, query: '' })],
  ['path_not_as_sent', 'target and query', get, signed(get, { path: `/api/device?${query}` })],
  ['method_not_as_sent', 'get', plain, signed(plain, { method: 'get' })],
  ['content_type_not_as_sent', 'JSON', get, signed(get, { contentType: 'application/json' })],
  ['content_type_not_as_sent', 'no type', post, signed(post, { contentType: '' })],
  ['content_type_not_as_sent', 'no charset', { ...post, contentType: charset }, signed(post)],
  ['content_type_not_as_sent', 'a charset', post, signed(post, { contentType: charset })],
  ['body_not_hashed', 'an empty line', get, signed(get, { bodyLine: '' })],
  ['body_not_hashed', 'the body', post, signed(post, { bodyLine: json })],
  ['body_not_hashed', 'upper case', post, signed(post, { bodyLine: sha256(json).toUpperCase() })],
  ['body_not_signed', 'no body', post, signed(post, { hashed: '' })],
  ['line_endings', 'a line feed', post, signed(post, { hashed: `${json}\n` })],
  ...['{"name": "caf\\u00e9 1/2", "id": "d1"}', '{"name":"caf\\u00e9 1\\/2","id":"d1"}'].map(
    (text): Mistaken => ['json_serialized_again', text, post, signed(post, { hashed: text })],
  ),
  ['json_serialized_again', 'compact', spaced, signed(spaced, { hashed: '{"id":1.0}' })],
  [
    'empty_body_as_json',
    '{}',
    { method: 'DELETE' },
    signed({ method: 'DELETE' }, { hashed: '{}' }),
  ],
  ['json_serialized_again', 'sorted', ascii, signed(ascii, { hashed: '{"id":"d1","name":"D 1"}' })],
  ['line_missing', 'no first line', plain, ofLines(without(lines(plain), 0))],
  ['line_missing', 'no empty line', plain, ofLines(without(lines(plain), 4))],
  ['line_missing', 'no nonce', plain, ofLines(without(lines(plain), 8))],
  ['timestamp_not_signed', 'no timestamp', plain, ofLines(without(lines(plain), 7))],
  ['timestamp_signed_in_seconds', 'seconds', plain, ofLines(lines(plain).with(7, seconds))],
  ['parts_in_wrong_order', 'the nonce first', plain, ofLines(nonceFirst)],
  ['lines_joined_differently', 'a last line feed', plain, ofLines([...lines(plain), ''])],
  ['lines_joined_differently', 'CR LF', plain, hmac(lines(plain).join('\r\n'))],
  ['digest_in_version_2', 'a digest', plain, sha256(lines(plain).join('\n'), key)],
  ['parts_in_wrong_order', 'exchanged', plain, digests.hmac(lines(plain).join('\n'), key)],
  ['key_whitespace', 'a line feed', plain, digests.hmac(`${key}\n`, lines(plain).join('\n'))],
  ['digest_in_version_2', 'of version 1', plain, ofText(rightPlain)],
  ['digest_in_version_2', 'an HMAC', plain, hmac(rightPlain, timestamp)],
  ['digest_in_version_2', 'of a body', post, hmac(json, timestamp)],
];

describe('a wrong signature of version 2', () => {
  test.each(version2)('is explained by %s: %s', (mistakes, _what, sent, signature) => {
    expect(diagnose(2, sent, signature)).toEqual(mistakes.split(' '));
  });
});

describe('a wrong signature of version 1', () => {
  test.each(version1)('is explained by %s: %s', (mistakes, _what, sent, signature) => {
    expect(diagnose(1, sent, signature)).toEqual(mistakes.split(' '));
    expect(diagnose(1, sent, signature.toUpperCase())).toEqual(mistakes.split(' '));
  });

  test('is not explained without a key of the client', () => {
    expect(diagnose(1, get, sha256(right, timestamp, 'another'))).toBeUndefined();
  });
});

describe('a captured signature without a current timestamp', () => {
  const earlier = '1544993804802';
  const captured = lines(get).with(7, earlier);

  test.each<[string, Sent, string]>([
    ['version 1', { ...post, body: `a=1${earlier}` }, sha256('a=1', earlier, key)],
    ['version 1, of no query', { ...post, body: `${earlier} ` }, sha256(earlier, key)],
    ['version 1, an HMAC', { ...post, body: `a=1${earlier}` }, hmac('a=1', earlier)],
    ['version 2', { ...post, body: captured.join('\n') }, ofLines(captured)],
  ])('of %s is not explained', (_version, sent, signature) => {
    expect(diagnose(1, sent, signature)).toBeUndefined();
  });
});

describe.each([1, 2] as const)('the work for a wrong signature of version %d', (version) => {
  const KEY_LENGTH = 32;
  const formType = 'application/x-www-form-urlencoded';
  const jsonOf = (bytes: number) =>
    JSON.stringify(Array.from({ length: bytes / 24 }, (_, id) => ({ id, name: 'é/' })));

  /** The length of each digest's input. */
  function workOn(sent: Sent, signature: string, letters: string): readonly number[] {
    const work: number[] = [];
    const active = [...letters].map((letter) => letter.repeat(KEY_LENGTH));
    const counting: DiagnosisDigests = {
      digest(_algorithm, parts) {
        work.push(parts.reduce((sum, part) => sum + Buffer.from(part).length, 0));
        return 'e'.repeat(64);
      },
      hmac(secureKey, text) {
        work.push(Buffer.byteLength(secureKey + text));
        return 'e'.repeat(64);
      },
    };
    const body = Buffer.from(sent.body ?? '', 'latin1');
    const request: FailedRequest = { ...base, nonce, ...sent, version, signature, body };
    expect(diagnoseSignature(request, { active, algorithm: 'SHA-256' }, counting)).toBeUndefined();
    return work;
  }

  test.each<[string, Sent, string?]>([
    ['a query', { query: 'b=%20&a=1&a=2' }],
    ['no query', {}],
    ['a long query', { query: 'a=1&'.repeat(1000) }],
    ['escapes', { query: '%25'.repeat(1300) }],
    ['a form', { ...form, body: 'b=%20&a=1' }],
    ['JSON as a form', { ...form, contentType: formType, body: jsonOf(3000) }],
    ['no body', post],
    ['JSON', { ...post, body: jsonOf(100) }],
    ['long JSON', { ...post, body: jsonOf(3000) }],
    ['nested JSON', { ...post, body: '['.repeat(2000) + ']'.repeat(2000) }],
    ['indented JSON', { ...post, body: `${'['.repeat(32)}${'1,'.repeat(1900)}1${']'.repeat(32)}` }],
    ['line feeds', { ...post, body: '\n'.repeat(4000) }],
    ['binary data', { ...post, body: '\xff'.repeat(4000) }],
    ['an MD5', { ...post, body: jsonOf(100) }, 'f'.repeat(32)],
  ])(
    'on %s is bounded and does not depend on the keys',
    (_name, sent, signature = 'f'.repeat(64)) => {
      const work = workOn(sent, signature, 'ab');
      expect(work.length).toBeGreaterThan(20);
      expect(work.length).toBeLessThanOrEqual(140);
      expect(work.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(1024 * 1024);
      expect(workOn(sent, signature, 'cd')).toEqual(work);
    },
  );

  test('on more than 4 KiB is nothing', () => {
    expect(workOn({ ...post, body: 'a'.repeat(4096) }, 'f'.repeat(64), 'ab')).toEqual([]);
  });
});

describe('the digest that the client is registered for', () => {
  const ofClient = (algorithm: 'MD5' | undefined, version: 1 | 2, signature: string) =>
    diagnoseSignature(
      { ...base, ...get, version, nonce: version === 2 ? nonce : '', signature, body: Buffer.of() },
      { active: [key], algorithm },
      digests,
    );

  test('is a second mistake of version 1 if the signer used another one', () => {
    const signature = sha256(timestamp, key);
    expect(ofClient('MD5', 1, signature)).toEqual(['query_not_signed', 'wrong_digest']);
    expect(ofClient(undefined, 1, signature)).toEqual([
      'query_not_signed',
      'version_1_not_allowed',
    ]);
  });

  test('is no mistake of an HMAC or of version 2', () => {
    expect(ofClient('MD5', 1, hmac(right, timestamp))).toEqual(['hmac_in_version_1']);
    expect(ofClient('MD5', 2, signed(get, { query: '' }))).toEqual(['query_not_signed']);
  });

  test('is not revealed to a signer without a key', () => {
    expect(ofClient('MD5', 1, sha256(right, timestamp))).toEqual(['key_not_used']);
  });
});
