import { repetitions } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MalformedReplyError, ReplyReader } from './reply-reader.ts';

interface Read {
  status?: number;
  headers?: readonly string[];
  body: string;
  ended: boolean;
  /** Bytes that belong to the reply. */
  taken: number;
  reusable: number;
  refused: boolean;
}

/** Reads bytes that arrive in these pieces. The service may then close the connection. */
function readPieces(
  pieces: readonly Buffer[],
  { method = 'GET', closes = false }: { method?: string; closes?: boolean } = {},
): Read {
  const read: Read = { body: '', ended: false, taken: 0, reusable: 0, refused: false };
  const reader = new ReplyReader(
    ({ status, headers }) => Object.assign(read, { status, headers }),
    (chunk) => {
      read.body += chunk.toString('latin1');
    },
  );
  reader.begin(method);
  try {
    for (const piece of pieces) {
      // Like a connection: the buffer is larger than the data and is reused.
      const buffer = Buffer.concat([piece, Buffer.from('\r\n0\r\n\r\n')]);
      read.taken += reader.isOver ? 0 : reader.read(buffer.subarray(0, piece.length));
      buffer.fill('#');
    }
    read.ended = reader.isOver || (closes && reader.isOverAtClose);
    read.refused = closes && !read.ended;
  } catch (error) {
    expect(error).toBeInstanceOf(MalformedReplyError);
    read.refused = true;
  }
  read.reusable = read.ended ? reader.reusableMilliseconds : 0;
  return read;
}

const bytes = (text: string) => Buffer.from(text, 'latin1');
const readText = (text: string, options?: Parameters<typeof readPieces>[1]) =>
  readPieces([bytes(text)], options);

/** A reply with these headers. */
const ok = (headers: string, body = '') => `HTTP/1.1 200 OK\r\n${headers}\r\n\r\n${body}`;
const chunks = (body: string) => ok('Transfer-Encoding: chunked', body);

const good: readonly [name: string, text: string, expected: Partial<Read>][] = [
  [
    'a length',
    ok('Content-Length: 5\r\nX:  y  ', 'hello'),
    { status: 200, body: 'hello', headers: ['content-length', '5', 'x', 'y'], reusable: 4000 },
  ],
  ['no body', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204, body: '', reusable: 4000 }],
  ['no reason', 'HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n', { status: 200, body: '' }],
  [
    'chunks, an extension and a trailer',
    ok('Transfer-Encoding: Chunked', '3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-Sign: no\r\n\r\n'),
    { body: 'abc0123456789', headers: ['transfer-encoding', 'Chunked'], reusable: 4000 },
  ],
  [
    'interim replies before it',
    `HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 P\r\n\r\n${ok('Content-Length: 2', '{}')}`,
    { status: 200, body: '{}', headers: ['content-length', '2'] },
  ],
  ['close', ok('Connection: x, Close\r\nContent-Length: 0'), { reusable: 0 }],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na', { body: 'a', reusable: 0 }],
  [
    'a Keep-Alive timeout',
    ok('Keep-Alive: max=9, timeout=3\r\nContent-Length: 0'),
    { reusable: 2000 },
  ],
  [
    'a length for a reply without a body',
    'HTTP/1.1 204 No\r\nContent-Length: 4\r\n\r\n',
    { body: '', reusable: 0 },
  ],
  [
    'obsolete text',
    'HTTP/1.1 200 \xe4\r\nX: \xa0\xe9\xa0\r\nContent-Length: 0\r\n\r\n',
    { headers: ['x', '\xa0\xe9\xa0', 'content-length', '0'] },
  ],
];

describe('a reader of replies', () => {
  test.each(good)('reads %s in any pieces', (_name, text, expected) => {
    const whole = readText(text);
    expect(whole).toMatchObject({ ...expected, ended: true, taken: text.length, refused: false });
    for (let cut = 1; cut < text.length; cut += 1) {
      expect(readPieces([bytes(text.slice(0, cut)), bytes(text.slice(cut))])).toEqual(whole);
    }
    expect(readPieces([...bytes(text)].map((byte) => Buffer.from([byte])))).toEqual(whole);
  });

  test('reads a head of any length up to 16 KiB, together with the body', () => {
    const replyWith = (length: number) => {
      const [start, end] = ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: ', '\r\n\r\n'];
      return `${start}${'a'.repeat(length - start.length - end.length)}${end}ok`;
    };
    for (const near of [1024, 2048, 8 * 1024, 16 * 1024 - 8]) {
      for (let length = near - 8; length <= near + 8; length += 1) {
        const text = replyWith(length);
        expect(readText(text)).toMatchObject({ body: 'ok', ended: true, taken: text.length });
      }
    }
    expect(readText(replyWith(16 * 1024 + 2))).toMatchObject({ refused: true, ended: false });
  });

  test('reads to the end of the connection if the reply has no length', () => {
    const text = 'HTTP/1.1 200 OK\r\n\r\nas long as it is';

    expect(readText(text).ended).toBe(false);
    expect(readText(text, { closes: true })).toMatchObject({
      body: 'as long as it is',
      ended: true,
      reusable: 0,
    });
  });

  test('reads no body in the reply to a HEAD and does not reuse the connection', () => {
    const head = ok('Content-Length: 5');
    const read = readText(`${head}hello`, { method: 'HEAD' });
    expect(read).toMatchObject({ body: '', ended: true, reusable: 0, taken: head.length });
  });

  test('leaves bytes after a reply without a body to the connection', () => {
    const reply = 'HTTP/1.1 204 No Content\r\n\r\n';
    const read = readText(`${reply}HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad`);

    expect(read).toMatchObject({ body: '', ended: true, taken: reply.length });
  });

  test.each([
    ['another protocol', 'HTP/1.1 200 OK\r\n\r\n'],
    ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['a long status', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['an invalid status', 'HTTP/1.1 099 OK\r\n\r\n'],
    ['a bare line feed', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'],
    ['a bare carriage return', ok('A: b\rContent-Length: 9')],
    ['a NUL', ok('A: b\0')],
    ['a folded header', ok('A: b\r\n c\r\nContent-Length: 0')],
    ['a space before the colon', ok('Content-Length : 0')],
    ['a line without a colon', ok('Content-Length')],
    ['a header without a name', ok(': x')],
    ['two lengths', ok('Content-Length: 1\r\nContent-Length: 1', 'a')],
    ['a list of lengths', ok('Content-Length: 1, 1', 'a')],
    ['a signed length', ok('Content-Length: +1', 'a')],
    ['a length and a tab', ok('Content-Length: 1\t', 'a')],
    ['a tab and a length', ok('Content-Length:\t1', 'a')],
    ['an empty length', ok('Content-Length:', 'a')],
    ['a length beyond numbers', ok('Content-Length: 9999999999999999', 'a')],
    ['a length and chunks', ok('Content-Length: 1\r\nTransfer-Encoding: chunked', '0\r\n\r\n')],
    ['another encoding', ok('Transfer-Encoding: gzip, chunked', '0\r\n\r\n')],
    ['an encoding of two', ok('Transfer-Encoding: chunked, x', '0\r\n\r\n')],
    ['an encoding like chunked', ok('Transfer-Encoding: \xa0chunked', '0\r\n\r\n')],
    ['chunked twice', ok('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', '0\r\n\r\n')],
    ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a body longer than announced', ok('Content-Length: 1', 'ab')],
    ['an upgrade', 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n'],
    ...['Content-Length: 2', 'Transfer-Encoding: chunked'].map((framing) => [
      `an interim reply with ${framing}`,
      `HTTP/1.1 103 Early\r\n${framing}\r\n\r\n${ok('Content-Length: 0')}`,
    ]),
    ['interim replies without end', 'HTTP/1.1 103 Early\r\n\r\n'.repeat(1000)],
    ['a head without end', `HTTP/1.1 200 OK\r\nA: ${'a'.repeat(16_400)}`],
    ...['g', '', '-1', '0x1', '1 1', '123456789', ' 1'].map((size) => [
      `a chunk of size ${JSON.stringify(size)}`,
      chunks(`${size}\r\na\r\n0\r\n\r\n`),
    ]),
    ['a chunk size with LF', chunks('1\na\r\n')],
    ['a chunk longer than announced', chunks('1\r\nab\r\n0\r\n\r\n')],
    ['a long extension', chunks(`1;${'x'.repeat(1100)}`)],
    ['invalid trailers', chunks('0\r\nnone\r\n\r\n')],
    ['trailers without end', chunks(`0\r\n${`a: ${'b'.repeat(500)}\r\n`.repeat(40)}`)],
  ])('rejects %s', (_name, text) => {
    expect(readText(text)).toMatchObject({ refused: true, ended: false });
    const pieces = [...bytes(text)].map((byte) => Buffer.from([byte]));
    const { refused, taken } = readPieces(pieces);
    expect(refused || taken < text.length).toBe(true);
  });

  test.each([
    'HTTP/1.1 200 OK\r\nContent-Le',
    ok('Content-Length: 9', 'half'),
    chunks('4\r\nhalf\r\n'),
    chunks('4\r\nhalf\r\n0\r\n'),
  ])('never treats half a reply as complete: %j', (text) => {
    expect(readText(text, { closes: true })).toMatchObject({ refused: true, ended: false });
  });

  test('reads random input the same way in any pieces', () => {
    const anyReply = fc
      .tuple(
        fc.constantFrom(...good.map(([, text]) => text)),
        fc.array(fc.tuple(fc.nat(120), fc.constantFrom('', '\r', '\n', ' ', ':', '0', ';', 'x')), {
          maxLength: 3,
        }),
      )
      .map(([text, changes]) =>
        changes.reduce((all, [at, put]) => all.slice(0, at) + put + all.slice(at + 1), text),
      );
    fc.assert(
      fc.property(anyReply, fc.array(fc.nat(150), { maxLength: 4 }), (text, cuts) => {
        const ends = [...new Set([0, ...cuts.filter((cut) => cut < text.length), text.length])];
        ends.sort((a, b) => a - b);
        const pieces = ends.slice(1).map((end, index) => bytes(text.slice(ends[index], end)));
        const cut = readPieces(pieces, { closes: true });
        const whole = readText(text, { closes: true });
        // Bytes after the end are noticed only if they arrive together with it.
        const isLonger = cut.ended && cut.taken < text.length;
        expect(cut.refused || isLonger).toBe(whole.refused || whole.taken < text.length);
        if (whole.ended) {
          expect(cut).toEqual(whole);
        }
      }),
      { numRuns: repetitions(5000), seed: 1 },
    );
  });
});
