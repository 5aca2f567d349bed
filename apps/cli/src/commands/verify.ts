/**
 * Checks a captured request as the gateway does, or a signed reply. Not here: whether the client
 * exists, its address, and whether the signature was used before.
 */
import { ApiError, failureReasons } from '@gatehouse/errors';
import {
  AmbiguousTextError,
  diagnoseSignature,
  type FailedRequest,
  malformedSignature,
  nodeDigest,
  nodeHmac,
  parseRequestTarget,
  parseTimestamp,
  presentedCredential,
  replyLines,
  sign,
} from '@gatehouse/signing';
import { type Command, text, UsageError } from '../command-line/command.ts';
import { lines, visibleLines } from '../command-line/format.ts';
import { type Key, keyOptions, readKey, signVersion1, signVersion2 } from './sign.ts';

interface Verdict {
  readonly isVerified: boolean;
  readonly version?: 1 | 2;
  /** The error code of the gateway for this request. */
  readonly code?: string;
  readonly message?: string | undefined;
  /** Names of reasons, the most important one first. */
  readonly causes?: readonly (keyof typeof failureReasons)[] | undefined;
  /** The text that the signature must cover. */
  readonly expected?: string;
  readonly timestamp?: string;
}

export const verifyCommand: Command = {
  usage: 'verify <file>',
  summary: 'Check a captured request or a signed reply, and name the mistake.',
  options: {
    ...keyOptions,
    'nonce <nonce>': 'X-Nonce of the request, for a reply of version 2.',
  },
  notes: ['The file is as curl --include prints it. See docs/signing.md#check-your-signatures.'],
  example: 'request.txt --key-file key.txt',
  async runOffline(input, context) {
    const { file = '' } = input.positionals;
    const bodyFile = text(input.options.bodyFile);
    const key = await readKey(input, context, [file]);
    const { readBytes } = context.terminal;
    const capture = await readBytes(file);
    const body = bodyFile === undefined ? undefined : await readBytes(bodyFile);
    const captured = readCapture(capture, body);
    const verdict = captured.startLine.startsWith('HTTP/')
      ? verifyReply(captured, key, text(input.options.nonce))
      : verifyRequest(captured, key);
    const causes = (verdict.causes ?? []).map((name) => ({ name, ...failureReasons[name] }));
    const age = Math.round((Date.now() - Number(verdict.timestamp)) / 1000);
    const note = `X-Timestamp is ${age} s before this check. The gateway accepts 300 s.`;
    const isFailure = !verdict.isVerified;
    return { json: { ...verdict, causes, age }, text: `${describe(verdict)}\n${note}`, isFailure };
  },
};

type Captured = ReturnType<typeof readCapture>;

/** HTTP headers are bytes. Node reads them as Latin-1, too. */
function readCapture(bytes: Buffer, bodyFile: Buffer | undefined) {
  const whole = bytes.toString('latin1').replace(/^\s+/, '');
  // curl --verbose marks the lines of the request, and prints no body.
  const marked = [...whole.matchAll(/^> ?(.*?)\r?$/gm)].map(([, line]) => line).join('\n');
  const isVerbose = /^[A-Z]+ \S+ HTTP\//.test(marked) && !/^[A-Z]+[ /]\S+/.test(whole);
  const [head = ''] = (isVerbose ? marked : whole).split(/\r?\n\r?\n/, 1);
  const [startLine = '', ...headers] = head.trimEnd().split(/\r?\n/);
  const rawHeaders = headers.flatMap(
    (line) => /^([^\s:]+):[ \t]*(.*?)[ \t]*$/.exec(line)?.slice(1) ?? [''],
  );
  if (
    !/^([A-Za-z]+ \S+ )?HTTP\/\d(\.\d)?( \d{3}( .*)?)?$/.test(startLine) ||
    rawHeaders.includes('')
  ) {
    throw new UsageError(
      'The first line must be a request line (GET /path HTTP/1.1) or a status line (HTTP/1.1 200). Headers with a value follow.',
    );
  }
  const rest = isVerbose ? '' : whole.slice(head.length).replace(/^\r?\n\r?\n/, '');
  const body = bodyFile ?? Buffer.from(rest, 'latin1');
  const length = Number(headerOf(rawHeaders, 'content-length') ?? body.length);
  const isPartial = body.length > 0 && body.length < length;
  // The reply to a HEAD announces the length of a body that it does not have.
  if (isPartial || headerOf(rawHeaders, 'transfer-encoding') !== undefined) {
    throw new UsageError('The capture has only a part of the body, or chunks.', [
      'Save the decoded body in a file: --body-file',
    ]);
  }
  return { startLine, rawHeaders, body: body.subarray(0, length) };
}

function headerOf(rawHeaders: readonly string[], name: string): string | undefined {
  const at = rawHeaders.findIndex((given, i) => i % 2 === 0 && given.toLowerCase() === name);
  return at === -1 ? undefined : rawHeaders[at + 1];
}

function verifyRequest({ startLine, rawHeaders, body }: Captured, key: Key): Verdict {
  const [method = '', sentTarget = ''] = startLine.split(' ');
  try {
    // A request to a proxy names the host, which no signature covers.
    const sent = sentTarget.replace(/^https?:\/\/[^/?]+/i, '') || '/';
    const { sentPath: path, query } = parseRequestTarget(sent);
    const credential = presentedCredential(rawHeaders, query);
    const presented = credential.kind === 'signature' ? credential.signature : undefined;
    if (presented === undefined) {
      const message = 'The request has no signature. Only the gateway can check a token.';
      return { isVerified: false, code: 'unauthorized', message };
    }
    const { version, clientId, timestamp, sign: signature } = presented;
    if (parseTimestamp(timestamp) === undefined) {
      const causes = ['timestamp_malformed'] as const;
      return { isVerified: false, version, code: 'timestamp_out_of_range', causes };
    }
    const nonce = headerOf(rawHeaders, 'x-nonce') ?? '';
    const contentType = headerOf(rawHeaders, 'content-type') ?? '';
    const parts = { method, path, query, contentType, body, clientId, timestamp, nonce };
    const { signedText: expected, signature: right } =
      version === 1 ? signVersion1(parts, key) : signVersion2(parts, key);
    const isVerified = signature.toLowerCase() === right;
    const verdict = { isVerified, version, expected, timestamp };
    const request = { ...parts, version, signature };
    return isVerified
      ? verdict
      : { ...verdict, code: 'invalid_signature', causes: mistakesIn(request, key) };
  } catch (error) {
    if (error instanceof ApiError || error instanceof AmbiguousTextError) {
      const { message, reason } = error;
      const code = error instanceof ApiError ? error.code : 'ambiguous_request';
      return { isVerified: false, code, message, causes: reason === undefined ? [] : [reason] };
    }
    throw error;
  }
}

function mistakesIn(request: FailedRequest, { secureKey, algorithm }: Key): Verdict['causes'] {
  if (malformedSignature(request.version, request.signature) !== undefined) {
    return ['signature_malformed'];
  }
  const keys = { active: [secureKey], algorithm };
  const digests = { digest: nodeDigest, hmac: nodeHmac };
  return diagnoseSignature(request, keys, digests) ?? ['invalid_signature'];
}

function verifyReply(
  { startLine, rawHeaders, body }: Captured,
  { secureKey, algorithm }: Key,
  nonce: string | undefined,
): Verdict {
  const version2 = headerOf(rawHeaders, 'x-sign-v2');
  const signature = version2 ?? headerOf(rawHeaders, 'x-sign');
  const timestamp = headerOf(rawHeaders, 'x-timestamp') ?? '';
  if (signature === undefined) {
    const message = `The reply has no signature: the gateway did not verify the request, or a proxy replied. ${body.toString()}`;
    return { isVerified: false, message };
  }
  if (version2 !== undefined && nonce === undefined) {
    throw new UsageError('A reply of version 2 belongs to one request. Add its X-Nonce: --nonce');
  }
  const status = Number(startLine.split(' ')[1]);
  const reply = { status, nonce: nonce ?? '', timestamp, body };
  const right =
    version2 === undefined
      ? sign({ algorithm, signedText: body, timestamp }, secureKey, nodeDigest)
      : nodeHmac(secureKey, replyLines(reply, nodeDigest));
  const isVerified = signature.toLowerCase() === right;
  const message = 'The key did not sign every byte of this reply, its time, status and nonce.';
  const version = version2 === undefined ? 1 : 2;
  return { isVerified, version, timestamp, message: isVerified ? undefined : message };
}

function describe({ isVerified, version, code, message, causes = [], expected }: Verdict): string {
  if (isVerified) {
    return `Verified: the version ${version} signature is correct.`;
  }
  return lines(
    `Not verified.${code === undefined ? '' : ` The gateway reports ${code}.`}`,
    message && visibleLines(message),
    ...causes.map(
      (name) =>
        `Cause: ${name}\n  ${failureReasons[name].cause}\n  Fix: ${failureReasons[name].fix}`,
    ),
    expected !== undefined && `As received, the signature must cover:\n${visibleLines(expected)}`,
  );
}
