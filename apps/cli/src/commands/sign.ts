/**
 * Signs a request in both versions. It reads the request with the code of the gateway
 * (packages/signing), so it signs what the gateway verifies.
 */
import { randomBytes } from 'node:crypto';
import { ApiError } from '@gatehouse/errors';
import {
  AmbiguousTextError,
  assertNotReplyEnvelope,
  assertReadableQuery,
  coveredPart,
  isClientId,
  isNonce,
  nodeDigest,
  nodeHmac,
  parseRequestTarget,
  parseTimestamp,
  requestLines,
  sign,
  signedBody,
  signedQuery,
} from '@gatehouse/signing';
import {
  type Command,
  type CommandInput,
  type OfflineContext,
  text,
  UsageError,
} from '../command-line/command.ts';
import { visibleLines } from '../command-line/format.ts';

export const keyOptions = {
  'key-file <path>': 'Secure key. Default: standard input, or a prompt.',
  'body-file <path>': 'File with the body. - is standard input.',
  'algorithm <name>': 'Digest of version 1: SHA-256 (default) or MD5.',
};

export const signCommand: Command = {
  usage: 'sign <method> <url>',
  summary: 'Sign a request: print the signed text and a curl command for both versions.',
  options: {
    'client <id>': 'Client id.',
    ...keyOptions,
    'content-type <type>': 'Of the body. Default: application/json.',
    'timestamp <milliseconds>': 'X-Timestamp. Default: now.',
    'nonce <nonce>': 'X-Nonce of version 2. Default: random.',
  },
  notes: ['The URL can be only path and query, exactly as sent. See docs/signing.md.'],
  example: 'POST https://api.example/device-instance --client demo --key-file key.txt',
  async runOffline(input, context) {
    const key = await readKey(input, context, []);
    const request = await readRequest(input, context);
    const version1 = unlessRejected(() => {
      const { signature, ...signed } = signVersion1(request, key);
      return { ...signed, ...withCommand(request, { 'X-Sign': signature }) };
    });
    const version2 = unlessRejected(() => {
      const { signature, signedText } = signVersion2(request, key);
      const headers = { 'X-Nonce': request.nonce, 'X-Sign-V2': signature };
      return { lines: signedText.split('\n'), signedText, ...withCommand(request, headers) };
    });
    const text = `Version 1 ${describe(version1)}\n\nVersion 2 ${describe(version2)}`;
    return { json: { version1, version2 }, text };
  },
};

export type Key = Awaited<ReturnType<typeof readKey>>;

/**
 * Never from an argument: shells store arguments in their history, and other users see them.
 *
 * @param others what other arguments read
 */
export async function readKey(
  { options }: CommandInput,
  { terminal }: OfflineContext,
  others: readonly string[],
) {
  const algorithm = (text(options.algorithm) ?? 'SHA-256').toUpperCase();
  if (algorithm !== 'SHA-256' && algorithm !== 'MD5') {
    throw new UsageError('--algorithm must be SHA-256 or MD5. Version 2 always uses HMAC-SHA-256.');
  }
  const file = text(options.keyFile) ?? '-';
  if ([file, options.bodyFile, ...others].filter((each) => each === '-').length > 1) {
    throw new UsageError('Standard input is in use. Name the file with the secure key: --key-file');
  }
  // Editors end a file with a line break. Keys contain no whitespace.
  const secureKey =
    file === '-'
      ? await terminal.readSecret('Secure key')
      : (await terminal.readBytes(file)).toString('utf8').replace(/\r?\n$/, '');
  if (secureKey === '' || secureKey !== secureKey.trim()) {
    throw new UsageError('The secure key is empty, or begins or ends with whitespace.');
  }
  return { secureKey, algorithm } as const;
}

/** The parts of a request that a signature covers. */
export type SignedParts = Parameters<typeof requestLines>[0] & { readonly body: Buffer };

type SignedRequest = Awaited<ReturnType<typeof readRequest>>;

async function readRequest({ options, positionals }: CommandInput, context: OfflineContext) {
  const { url = '', method = '' } = positionals;
  const bodyFile = text(options.bodyFile);
  const request = {
    ...readUrl(url),
    url,
    bodyFile,
    method: method.toUpperCase(),
    body: bodyFile === undefined ? Buffer.alloc(0) : await context.terminal.readBytes(bodyFile),
    contentType: (text(options.contentType) ?? (bodyFile ? 'application/json' : '')).trim(),
    clientId: text(options.client) ?? '',
    timestamp: text(options.timestamp) ?? String(Date.now()),
    nonce: text(options.nonce) ?? randomBytes(18).toString('base64url'),
  };
  const isValid = {
    '<method>: enter a method of HTTP': /^[A-Z]+$/.test(request.method),
    '--client: enter the id of the client': isClientId(request.clientId),
    '--content-type: enter visible ASCII': /^[\t\x20-\x7e]*$/.test(request.contentType),
    '--timestamp: enter milliseconds': parseTimestamp(request.timestamp) !== undefined,
  };
  const problems = Object.entries(isValid).flatMap(([problem, holds]) => (holds ? [] : [problem]));
  if (problems.length > 0) {
    throw new UsageError('Invalid input:', problems);
  }
  return request;
}

/** Path and query as entered: a parser would change escapes, and with them the signature. */
function readUrl(url: string) {
  const [, sent = ''] = /^(?:https?:\/\/[^/?#]+)?(\/.*)$/i.exec(url) ?? [];
  try {
    const { sentPath: path, query } = parseRequestTarget(sent);
    return { path, query };
  } catch (error) {
    throw error instanceof ApiError ? new UsageError(`<url>: ${error.message}`) : error;
  }
}

/** @throws AmbiguousTextError, ApiError */
export function signVersion1(parts: SignedParts, { secureKey, algorithm }: Key) {
  const { query, body, timestamp } = parts;
  const signedAs = coveredPart({ ...parts, hasBody: body.length > 0 });
  const { signedText } = signedAs === 'query' ? signedQuery(query) : signedBody(signedAs, body);
  assertNotReplyEnvelope(signedText);
  const signature = sign({ algorithm, signedText, timestamp }, secureKey, nodeDigest);
  return { algorithm, signedAs, signedText: Buffer.from(signedText).toString(), signature };
}

/** @throws ApiError */
export function signVersion2(parts: SignedParts, { secureKey }: Key) {
  if (!isNonce(parts.nonce)) {
    const message = 'X-Nonce: must be 16 to 64 characters from A-Z, a-z, 0-9, _ and -';
    throw new ApiError('illegal_argument', { message, reason: 'nonce_malformed' });
  }
  assertReadableQuery(parts.query);
  const signedText = requestLines(parts, nodeDigest);
  return { signedText, signature: nodeHmac(secureKey, signedText) };
}

function unlessRejected<Signed>(make: () => Signed): Signed | { readonly problem: string } {
  try {
    return make();
  } catch (error) {
    if (error instanceof AmbiguousTextError || error instanceof ApiError) {
      return { problem: error.message };
    }
    throw error;
  }
}

/** The headers, and a command for a POSIX shell. curl sends exactly the bytes that were signed. */
function withCommand(request: SignedRequest, signed: Readonly<Record<string, string>>) {
  const { method, url, bodyFile, contentType, clientId, timestamp } = request;
  const headers: Readonly<Record<string, string>> = {
    'X-Client-Id': clientId,
    'X-Timestamp': timestamp,
    ...signed,
    // An empty header removes the type of a form, which curl would add to a body.
    ...(contentType === '' && bodyFile === undefined ? {} : { 'Content-Type': contentType }),
  };
  const words = [
    `curl --include --globoff ${method === 'HEAD' ? '--head' : `--request ${method}`}`,
    url.startsWith('/') ? `"$GATEWAY_URL"${quote(url)}` : quote(url),
    ...Object.entries(headers).map(
      ([name, value]) => `--header ${quote(`${name}:${value && ` ${value}`}`)}`,
    ),
    ...(bodyFile === undefined ? [] : [`--data-binary ${quote(`@${bodyFile}`)}`]),
  ];
  return { headers, curl: words.join(' \\\n  ') };
}

/** A shell reads everything between single quotes as it is. */
function quote(value: string): string {
  return `'${value.replaceAll("'", `'\\''`)}'`;
}

function describe(
  signed: { readonly problem: string } | { readonly signedText: string; readonly curl: string },
): string {
  return 'problem' in signed
    ? `cannot sign this request:\n  ${signed.problem}`
    : `signs this text:\n${visibleLines(signed.signedText)}\nCommand:\n  ${signed.curl}`;
}
