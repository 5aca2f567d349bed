/**
 * Checks a captured request as the gateway does, or a signed reply. Not here: whether the client
 * exists, its address, and whether the signature was used before.
 */
import { ApiError, failureReasons } from '@gatehouse/errors';
import {
  AmbiguousTextError,
  assertNotReplyEnvelope,
  assertReadableQuery,
  coveredPart,
  diagnoseSignature,
  findLinesKey,
  findSigningKey,
  isNonce,
  malformedSignature,
  nodeDigest,
  nodeHmac,
  parseRequestTarget,
  parseTimestamp,
  presentedCredentials,
  replyLines,
  requestLines,
  type SignatureAlgorithm,
  signedBody,
  signedQuery,
} from '@gatehouse/signing';
import { type OfflineCommand, text, UsageError } from '../command-line/command.ts';
import { visibleText } from '../command-line/format.ts';
import { keyOptions, readAlgorithm, readSecureKey } from './sign.ts';

interface Key {
  readonly secureKey: string;
  readonly algorithm: SignatureAlgorithm;
}

/** The result of a check. */
interface Verdict {
  readonly isVerified: boolean;
  readonly version?: 1 | 2 | undefined;
  /** The error code of the gateway for this request. */
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  /** Names of reasons, the most important one first. */
  readonly causes?: readonly (keyof typeof failureReasons)[];
  /** The text or the lines that the signature must cover. */
  readonly expected?: string | undefined;
  readonly timestamp?: string | undefined;
}

export const verifyCommand: OfflineCommand = {
  usage: 'verify <file>',
  summary: 'Check a captured request or a signed reply, and name the mistake.',
  options: {
    ...keyOptions,
    nonce: { value: 'nonce', description: 'X-Nonce of the request, for a reply of version 2.' },
  },
  notes: [
    'The file has the request line or status line, headers, an empty line, and the body. - is',
    'standard input. It also reads the output of curl --include, and the request in the output of',
    'curl --verbose, whose body --body-file names. Exit code 0: verified. 1: not verified.',
    'Only the gateway knows whether the client exists, is enabled and has this key and digest, its',
    'addresses, its scopes, and whether the signature was used before.',
  ],
  example: 'request.txt --key-file key.txt',
  async runOffline(input, context) {
    const { file = '' } = input.positionals;
    const bodyFile = text(input.options['body-file']);
    const secureKey = await readSecureKey(input, context, [file, bodyFile]);
    const key = { secureKey, algorithm: readAlgorithm(input) };
    const captured = readCapture(
      await context.terminal.readBytes(file),
      bodyFile === undefined ? undefined : await context.terminal.readBytes(bodyFile),
    );
    const verdict = captured.startLine.startsWith('HTTP/')
      ? verifyReply(captured, key, text(input.options.nonce))
      : verifyRequest(captured, key);
    const causes = (verdict.causes ?? []).map((name) => ({ name, ...failureReasons[name] }));
    return {
      json: { ...verdict, causes },
      text: describe(verdict, context.now()),
      isFailure: !verdict.isVerified,
    };
  },
};

type Captured = ReturnType<typeof readCapture>;

/** HTTP headers are bytes. Node reads them as Latin-1, too. */
function readCapture(bytes: Buffer, bodyFile: Buffer | undefined) {
  const whole = bytes.toString('latin1').replace(/^\s+/, '');
  // curl --verbose marks the lines of the request, and prints no body.
  const isVerbose = /^> [A-Z]+ \S+ HTTP\//m.test(whole) && !/^[A-Z]+[ /]\S+/.test(whole);
  const marked = [...whole.matchAll(/^> ?(.*?)\r?$/gm)].map(([, line]) => line).join('\n');
  const [head = ''] = (isVerbose ? marked : whole).split(/\r?\n\r?\n/, 1);
  const [startLine = '', ...lines] = head.trimEnd().split(/\r?\n/);
  if (!/^([A-Za-z]+ \S+ HTTP\/\d(\.\d)?|HTTP\/\d(\.\d)? \d{3}( .*)?)$/.test(startLine)) {
    throw new UsageError(
      'The first line must be a request line (GET /path HTTP/1.1) or a status line (HTTP/1.1 200).',
    );
  }
  const rawHeaders = lines.flatMap((line, index) => {
    const [, name, value = ''] = /^([^\s:]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
    if (name === undefined) {
      throw new UsageError(`Line ${index + 2} of the capture is not a header.`);
    }
    return [name, value];
  });
  const rest = whole.slice(head.length).replace(/^\r?\n\r?\n/, '');
  const body = bodyFile ?? framed(Buffer.from(isVerbose ? '' : rest, 'latin1'), rawHeaders);
  return { startLine, rawHeaders, body };
}

/** The body without the bytes after it. */
function framed(rest: Buffer, rawHeaders: readonly string[]): Buffer {
  const length = headerOf(rawHeaders, 'content-length') ?? String(rest.length);
  const isChunked = headerOf(rawHeaders, 'transfer-encoding') !== undefined;
  // The reply to a HEAD announces the length of a body that it does not have.
  if (isChunked || (rest.length > 0 && rest.length < Number(length))) {
    throw new UsageError('The capture has only a part of the body, or chunks.', [
      'Save the decoded body in a file: --body-file',
    ]);
  }
  return rest.subarray(0, Number(length));
}

function headerOf(rawHeaders: readonly string[], name: string): string | undefined {
  const at = rawHeaders.findIndex((given, i) => i % 2 === 0 && given.toLowerCase() === name);
  return at === -1 ? undefined : rawHeaders[at + 1];
}

function verifyRequest(captured: Captured, key: Key): Verdict {
  const [method = '', sentTarget = ''] = captured.startLine.split(' ');
  try {
    // A request to a proxy names the host, which no signature covers.
    const target = parseRequestTarget(sentTarget.replace(/^https?:\/\/[^/?]+/i, '') || '/');
    const { signature } = presentedCredentials(captured.rawHeaders, target.query);
    if (signature === undefined) {
      const message = 'The request has no signature. Only the gateway can check a token.';
      return { isVerified: false, code: 'unauthorized', message };
    }
    const { clientId, timestamp, sign } = signature;
    const parts = {
      method,
      path: target.sentPath,
      query: target.query,
      contentType: headerOf(captured.rawHeaders, 'content-type') ?? '',
      body: captured.body,
      clientId,
      timestamp,
      nonce: headerOf(captured.rawHeaders, 'x-nonce') ?? '',
    };
    return signature.version === 1
      ? verifyVersion1(parts, sign, key)
      : verifyVersion2(parts, sign, key);
  } catch (error) {
    if (error instanceof ApiError || error instanceof AmbiguousTextError) {
      const { message, reason } = error;
      const code = error instanceof ApiError ? error.code : 'ambiguous_request';
      return { isVerified: false, code, message, causes: reason === undefined ? [] : [reason] };
    }
    throw error;
  }
}

type Parts = Parameters<typeof requestLines>[0] & { readonly body: Buffer };

function verifyVersion1(parts: Parts, sign: string, key: Key): Verdict {
  const { body, query, timestamp } = parts;
  const part = coveredPart({ ...parts, hasBody: body.length > 0 });
  const { signedText } = part === 'query' ? signedQuery(query) : signedBody(part, body);
  const input = { algorithm: key.algorithm, signedText, timestamp };
  const isVerified = findSigningKey(input, sign, [key.secureKey], nodeDigest) !== undefined;
  if (isVerified) {
    assertNotReplyEnvelope(signedText);
  }
  const expected = Buffer.from(signedText).toString();
  return judge({ version: 1, isVerified, expected, timestamp }, parts, sign, key);
}

function verifyVersion2(parts: Parts, sign: string, key: Key): Verdict {
  const { nonce, query, timestamp } = parts;
  if (!isNonce(nonce)) {
    const message = 'X-Nonce: must be 16 to 64 characters from A-Z, a-z, 0-9, _ and -';
    return { isVerified: false, version: 2, code: 'illegal_argument', message };
  }
  assertReadableQuery(query);
  const expected = requestLines(parts, nodeDigest);
  const isVerified = findLinesKey(expected, sign, [key.secureKey], nodeHmac) !== undefined;
  return judge({ version: 2, isVerified, expected, timestamp }, parts, sign, key);
}

/** Names the mistake in a wrong signature. */
function judge(
  verdict: Verdict & { readonly version: 1 | 2; readonly timestamp: string },
  parts: Parts,
  sign: string,
  { secureKey, algorithm }: Key,
): Verdict {
  if (parseTimestamp(verdict.timestamp) === undefined) {
    const message = 'X-Timestamp is not the epoch time in milliseconds, 13 digits.';
    return { ...verdict, isVerified: false, code: 'timestamp_out_of_range', message };
  }
  if (verdict.isVerified) {
    return verdict;
  }
  const wrong = { ...verdict, code: 'invalid_signature' };
  const malformed = malformedSignature(verdict.version, sign);
  if (malformed !== undefined) {
    return { ...wrong, message: malformed.message, causes: [malformed.reason] };
  }
  const request = { ...parts, version: verdict.version, signature: sign };
  const keys = { active: [secureKey], removed: [], algorithm };
  const digests = { digest: nodeDigest, hmac: nodeHmac };
  const causes = diagnoseSignature(request, keys, digests) ?? [];
  const message = causes.length > 0 ? undefined : 'This secure key did not make the signature.';
  return { ...wrong, causes, message };
}

function verifyReply(captured: Captured, key: Key, nonce: string | undefined): Verdict {
  const { startLine, rawHeaders, body } = captured;
  const version2 = headerOf(rawHeaders, 'x-sign-v2');
  const signature = version2 ?? headerOf(rawHeaders, 'x-sign');
  const timestamp = headerOf(rawHeaders, 'x-timestamp') ?? '';
  const version = version2 === undefined ? 1 : 2;
  if (signature === undefined) {
    const message = `The reply has no signature: the gateway did not verify the request, or a proxy replied. ${body.toString()}`;
    return { isVerified: false, message };
  }
  if (version === 2 && nonce === undefined) {
    throw new UsageError('A reply of version 2 belongs to one request. Add its X-Nonce: --nonce');
  }
  const reply = { status: Number(startLine.split(' ')[1]), nonce: nonce ?? '', timestamp };
  const linesOf = (bytes: Buffer) => replyLines({ ...reply, body: bytes }, nodeDigest);
  const isSigned = (bytes: Buffer) =>
    version === 2
      ? findLinesKey(linesOf(bytes), signature, [key.secureKey], nodeHmac)
      : findSigningKey(
          { algorithm: key.algorithm, signedText: bytes, timestamp },
          signature,
          [key.secureKey],
          nodeDigest,
        );
  if (isSigned(body) !== undefined) {
    return { isVerified: true, version, timestamp };
  }
  // An editor or a program may have changed the line breaks, or the last one.
  const received = body.toString('latin1');
  const others = [received.trimEnd(), `${received}\n`, received.replaceAll('\r\n', '\n')];
  const isChanged = others.some((each) => isSigned(Buffer.from(each, 'latin1')) !== undefined);
  const message = isChanged
    ? 'The signature belongs to a body with other line breaks. Verify the received bytes before you decode or trim them.'
    : 'The key did not sign this reply, or body, status, X-Timestamp, digest or nonce differ. Do not trust it.';
  const expected = version === 2 ? linesOf(body) : undefined;
  return { isVerified: false, version, message, expected, timestamp };
}

function describe(verdict: Verdict, now: number): string {
  const { isVerified, version, code, message, causes = [], expected, timestamp } = verdict;
  const time = parseTimestamp(timestamp ?? '');
  const reported = code === undefined ? '' : ` The gateway reports ${code}.`;
  return [
    isVerified
      ? `Verified: the version ${version} signature is correct.`
      : `Not verified.${reported}`,
    ...(message === undefined ? [] : [visibleText(message)]),
    ...causes.flatMap((name) => [
      `Cause: ${name}`,
      `  ${failureReasons[name].cause}`,
      `  Fix: ${failureReasons[name].fix}`,
    ]),
    ...(expected === undefined
      ? []
      : [
          'As received, the signature must cover:',
          ...expected.split(/(?<=\n)/).map((line) => `  ${visibleText(line)}`),
        ]),
    ...(time === undefined
      ? []
      : [
          `X-Timestamp is ${new Date(time).toISOString()}, ${Math.round((now - time) / 1000)} s before this check. The gateway accepts a difference of 300 s.`,
        ]),
  ].join('\n');
}
