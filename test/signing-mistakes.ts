import { createHash, createHmac, randomBytes } from 'node:crypto';

/** A client that signs with one mistake. */
export interface Mistake {
  /** The reason in packages/errors. */
  readonly cause: string;
  /** The bytes of the request with the mistake. */
  readonly raw: Buffer;
  /** The registered digest of the client. */
  readonly algorithm?: string;
}

interface Parts {
  readonly method?: string;
  readonly target?: string;
  readonly type?: string;
  readonly body?: string | Buffer;
  readonly headers: readonly (readonly [string, string])[];
}

const query = 'pageSize=20&pageIndex=0';
const json = { method: 'POST', target: '/device-instance', type: 'application/json' };
const body = '{"id":"d1","name":"D 1"}';

/** One request for each mistake that the gateway can name, signed with `key`. */
export function signingMistakes(key: string, now: number): readonly Mistake[] {
  const timestamp = String(now);
  const seconds = timestamp.slice(0, 10);
  const nonce = () => randomBytes(18).toString('base64url');
  const sha256 = (...parts: (string | Buffer)[]) => digest('sha256', ...parts);
  const hmac = (text: string, secureKey = key) =>
    createHmac('sha256', secureKey).update(text).digest('hex');
  const one = (sign: string, parts: Omit<Parts, 'headers'> = {}, time = timestamp, id = 'demo') =>
    raw({
      ...parts,
      headers: [
        ['X-Client-Id', id],
        ['X-Timestamp', time],
        ['X-Sign', sign],
      ],
    }); // prettier-ignore
  const signed = (text: string | Buffer, parts: Omit<Parts, 'headers'> = {}) =>
    one(sha256(text, timestamp, key), parts);
  /** Changes the nine lines of version 2 before they are signed. */
  const two = (
    change: (lines: string[]) => string,
    parts: Omit<Parts, 'headers'> = {},
    signWith = hmac,
  ) => {
    const once = nonce();
    const { method = 'GET', target = '/api/device', type = '', body: sent = '' } = parts;
    const [path = '', search = ''] = target.split('?');
    const lines = [
      'GATEHOUSE-V2',
      method,
      path,
      search,
      type,
      sha256(sent),
      'demo',
      timestamp,
      once,
    ]; // prettier-ignore
    return raw({
      ...parts,
      headers: [
        ['X-Client-Id', 'demo'],
        ['X-Timestamp', timestamp],
        ['X-Nonce', once],
        ['X-Sign-V2', signWith(change(lines))],
      ], // prettier-ignore
    });
  };
  const joined = (lines: readonly string[]) => lines.join('\n');
  const at = (index: number, text: string) => (lines: string[]) => joined(lines.with(index, text));
  const device = { target: `/api/device?${query}` };
  const sorted = 'pageIndex=0&pageSize=20';
  const right = sha256(sorted, timestamp, key);
  const withoutHeaders = (...headers: readonly (readonly [string, string])[]) =>
    raw({ ...device, headers });
  const mistakes: readonly (readonly [string, Buffer])[] = [
    ['parameters_unsorted', signed(query, device)],
    ['parameters_encoded', signed('name=a%20b', { target: '/api/device?name=a%20b' })],
    ['parameters_plus_for_space', signed('name=a+b', { target: '/api/device?name=a+b' })],
    ['parameters_not_joined', signed('a=1&a=2', { target: '/api/device?a=1&a=2' })],
    ['query_not_signed', signed('', device)],
    ['path_included', signed('?pageSize=20', { target: '/api/device?pageSize=20' })],
    ['path_included', signed(`/api/device?${sorted}`, device)],
    ['body_not_signed', signed('', { ...json, body })],
    ['body_not_utf8', signed(`\ufeff${body}`, { ...json, body: `\ufeff${body}` })],
    ['json_serialized_again', signed('{"id": "d1", "name": "D 1"}', { ...json, body })],
    ['line_endings', signed(`${body}\n`, { ...json, body })],
    ['line_endings', signed('{\r\n"id":"d2"\r\n}', { ...json, body: '{\n"id":"d2"\n}' })],
    ['empty_body_as_json', signed('{}', json)],
    [
      'form_type_on_json',
      signed(body, { ...json, type: 'application/x-www-form-urlencoded', body }),
    ],
    ['timestamp_not_signed', one(sha256(sorted, key), device)],
    ['timestamp_signed_in_seconds', one(sha256(sorted, seconds, key), device)],
    ['key_not_used', one(sha256(sorted, timestamp), device)],
    ['parts_in_wrong_order', one(sha256(key, sorted, timestamp), device)],
    ['wrong_digest', one(digest('md5', sorted, timestamp, key), device)],
    ['hmac_in_version_1', one(hmac(sorted + timestamp), device)],
    ['digest_in_version_2', two(joined, device, (text) => sha256(text, key))],
    ['digest_in_version_2', two(() => sorted + timestamp, device)],
    [
      'hmac_in_version_1',
      (() => {
        const once = nonce();
        const lines = [
          'GATEHOUSE-V2',
          'GET',
          '/api/device',
          query,
          '',
          sha256(''),
          'demo',
          timestamp,
          once,
        ]; // prettier-ignore
        return raw({
          ...device,
          headers: [
            ['X-Client-Id', 'demo'],
            ['X-Timestamp', timestamp],
            ['X-Nonce', once],
            ['X-Sign', hmac(joined(lines))],
          ], // prettier-ignore
        });
      })(),
    ],
    ['version_1_not_allowed', one(right, device, timestamp, 'modern')],
    ['key_whitespace', one(sha256(sorted, timestamp, `${key}\n`), device)],
    ['query_not_as_sent', two(at(3, 'name=a b'), { target: '/api/device?name=a%20b' })],
    ['path_not_as_sent', two(at(2, '/api/v1/device/d 1'), { target: '/api/v1/device/d%201' })],
    ['method_not_as_sent', two(at(1, 'get'), device)],
    [
      'content_type_not_as_sent',
      two(at(4, 'application/json'), {
        ...json,
        type: 'application/json; charset=utf-8',
        body,
      }),
    ],
    ['body_not_hashed', two(at(5, body), { ...json, body })],
    ['line_missing', two((lines) => joined(lines.slice(1)), device)],
    ['lines_joined_differently', two((lines) => lines.join('\r\n'), device)],
    ['missing_signature', withoutHeaders(['X-Client-Id', 'demo'], ['X-Sign', right])],
    [
      'ambiguous_request',
      withoutHeaders(
        ...(['X-Timestamp', 'X-Timestamp'] as const).map((name) => [name, timestamp] as const),
        ['X-Client-Id', 'demo'],
        ['X-Sign', right],
      ),
    ],
    ['signature_malformed', one(Buffer.from(right, 'hex').toString('base64'), device)],
    ['signature_malformed', one(digest('sha1', sorted, timestamp, key), device)],
    ['signature_malformed', one(`sha256=${right}`, device)],
    ['invalid_signature', one('0'.repeat(64), device)],
    ['timestamp_malformed', one(sha256(sorted, seconds, key), device, seconds)],
    ['timestamp_malformed', one(right, device, `${timestamp}000`)],
    ['timestamp_malformed', one(right, device, new Date(now).toISOString())],
    [
      'nonce_malformed',
      raw({
        headers: [
          ['X-Client-Id', 'demo'],
          ['X-Timestamp', timestamp],
          ['X-Nonce', '42'],
          ['X-Sign-V2', right],
        ], // prettier-ignore
      }),
    ],
    ['query_with_signed_body', signed(body, { ...json, target: '/device-instance?trace=1', body })],
    ['body_with_signed_query', signed('', { type: 'application/json', body: '{}' })],
    [
      'body_not_utf8',
      signed(Buffer.from([0x22, 0xe9, 0x22]), {
        ...json,
        body: Buffer.from([0x22, 0xe9, 0x22]),
      }),
    ],
    ['parameter_ambiguous', signed('where=a&b', { target: '/api/device?where=a%26b' })],
    [
      'reply_as_request',
      (() => {
        const reply = '{"status":200,"code":"success","message":"ok","timestamp":1}';
        return signed(reply, { ...json, body: reply });
      })(),
    ],
  ];
  return mistakes.map(([cause, bytes]) => ({
    cause,
    raw: bytes,
    ...(cause === 'version_1_not_allowed' && { algorithm: 'HMAC-SHA-256' }),
  }));
}

function digest(algorithm: string, ...parts: readonly (string | Buffer)[]): string {
  const hash = createHash(algorithm);
  for (const part of parts) {
    hash.update(part);
  }
  return hash.digest('hex');
}

function raw({ method = 'GET', target = '/api/device', type, body: sent, headers }: Parts): Buffer {
  const bytes = Buffer.from(sent ?? '');
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'Host: gateway.example',
    'Connection: close',
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(type === undefined ? [] : [`Content-Type: ${type}`]),
    ...(sent === undefined && method === 'GET' ? [] : [`Content-Length: ${bytes.length}`]),
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
}
