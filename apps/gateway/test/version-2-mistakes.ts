import {
  create,
  decoded,
  joined,
  json,
  type Lines,
  lined,
  linesOf,
  type Mistake,
  members,
  mistake,
  type Options,
  over,
  type Parts,
  plain,
  post,
  type Sent,
  sorted,
  spaced,
  textOnly,
  type Values,
} from './signing-mistake.ts';

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

export const version2Mistakes: readonly Mistake[] = [
  two('decoded query', ['query_not_as_sent'], { query: spaced }, { query: decoded }),
  two('sorted query', ['query_not_as_sent'], {}, { query: sorted }),
  two('query missing', ['query_not_signed'], {}, { query: '' }),
  two('question mark', ['query_not_as_sent'], {}, { query: `?${plain}` }),
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
  two('body missing', ['body_not_signed'], create, { body: 'h' }),
  two('JSON written again', ['json_serialized_again'], create, { body: `H${members}` }),
  two('line feed after the body', ['line_endings'], create, { body: `h${json}\n` }),
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
  other('no first line', ['line_missing'], (values) => joined(linesOf({}, values).slice(1))),
  other('no empty line', ['line_missing'], (values) =>
    joined(linesOf({}, values).filter((line) => line !== '=')),
  ),
  other('no timestamp', ['timestamp_not_signed'], (values) =>
    joined(linesOf({}, values).toSpliced(7, 1)),
  ),
  other('nonce before timestamp', ['parts_in_wrong_order'], (values) => {
    const lines = linesOf({}, values);
    return joined([...lines.slice(0, 7), lines[8] ?? '', lines[7] ?? '']);
  }),
  other(
    'a digest',
    ['digest_in_version_2'],
    (values) => [...joined(linesOf({}, values)), `=${values.key}`],
    { algorithm: 'sha256' },
  ),
  other('Base64', ['signature_malformed'], (values) => joined(linesOf({}, values)), {
    encoding: 'base64',
  }),
  other('SHA-1', ['signature_malformed'], (values) => joined(linesOf({}, values)), {
    algorithm: 'sha1',
  }),
  other('line feed after the key', ['key_whitespace'], (values) => joined(linesOf({}, values)), {
    key: ({ key }) => `${key}\n`,
  }),
  other('text of version 1', ['digest_in_version_2'], textOnly(`s${plain}`)),
  other('signature of version 1', ['digest_in_version_2'], over(`s${plain}`), {
    algorithm: 'sha256',
  }),
];
