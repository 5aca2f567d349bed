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
  type SignatureAlgorithm,
  sign,
  signedBody,
  signedQuery,
  signLines,
  splitQueryToken,
} from '@gatehouse/signing';
import {
  type CommandInput,
  type OfflineCommand,
  type OfflineContext,
  type Options,
  text,
  UsageError,
} from '../command-line/command.ts';
import { visibleText } from '../command-line/format.ts';

const NONCE_BYTES = 18;

export const keyOptions: Options = {
  'key-file': {
    value: 'path',
    description: 'File with the secure key. Default: standard input, or a prompt.',
  },
  'body-file': { value: 'path', description: 'File with the body. - is standard input.' },
  algorithm: {
    value: 'name',
    description: 'Digest of version 1, as registered: SHA-256 (default) or MD5.',
  },
};

export const signCommand: OfflineCommand = {
  usage: 'sign <method> <url>',
  summary: 'Sign a request: print the signed text and a curl command for both versions.',
  options: {
    client: { value: 'id', description: 'Client id.' },
    ...keyOptions,
    'content-type': {
      value: 'type',
      description: 'Content-Type of the body. Default: application/json.',
    },
    timestamp: { value: 'milliseconds', description: 'X-Timestamp. Default: now.' },
    nonce: { value: 'nonce', description: 'X-Nonce of version 2. Default: random.' },
  },
  notes: [
    'The URL is a URL or only path and query, exactly as sent.',
    'The gateway accepts each command once, within five minutes after X-Timestamp.',
    'docs/signing.md specifies the signatures.',
  ],
  example: 'POST https://api.example/device-instance --client demo --key-file key.txt',
  async runOffline(input, context) {
    const secureKey = await readSecureKey(input, context, [text(input.options['body-file'])]);
    const request = await readRequest(input, context);
    const version1 = unlessRejected(() => signVersion1(request, secureKey));
    const version2 = unlessRejected(() => signVersion2(request, secureKey));
    return {
      json: { version1, version2 },
      text: [
        describe(`Version 1 with ${request.algorithm}`, version1),
        describe('Version 2', version2),
      ].join('\n\n'),
    };
  },
};

/**
 * Never from an argument: shells store arguments in their history, and other users see them.
 *
 * @param others what other options read
 */
export async function readSecureKey(
  { options }: CommandInput,
  { terminal }: OfflineContext,
  others: readonly (string | undefined)[],
): Promise<string> {
  const file = text(options['key-file']) ?? '-';
  if ([file, ...others].filter((each) => each === '-').length > 1) {
    throw new UsageError('Standard input is in use. Name the file with the secure key: --key-file');
  }
  if (file === '-') {
    return terminal.readSecret('Secure key');
  }
  // Editors end a file with a line break. Keys contain none.
  const key = (await terminal.readBytes(file)).toString('utf8').replace(/\r?\n$/, '');
  if (key === '' || key !== key.trim()) {
    throw new UsageError(`The file ${file} contains no secure key, or one with whitespace.`);
  }
  return key;
}

export function readAlgorithm({ options }: CommandInput): SignatureAlgorithm {
  const name = (text(options.algorithm) ?? 'SHA-256').toUpperCase();
  if (name === 'SHA-256' || name === 'MD5') {
    return name;
  }
  throw new UsageError('--algorithm must be SHA-256 or MD5. Version 2 always uses HMAC-SHA-256.');
}

type SignedRequest = Awaited<ReturnType<typeof readRequest>>;

async function readRequest(input: CommandInput, { terminal, now }: OfflineContext) {
  const { options, positionals } = input;
  const { method = '', url = '' } = positionals;
  const bodyFile = text(options['body-file']);
  const body = bodyFile === undefined ? undefined : await terminal.readBytes(bodyFile);
  const contentType = text(options['content-type']) ?? (body && 'application/json') ?? '';
  const clientId = text(options.client) ?? '';
  const timestamp = text(options.timestamp) ?? String(now());
  const nonce = text(options.nonce) ?? randomBytes(NONCE_BYTES).toString('base64url');
  const problems = [
    ...(/^[A-Za-z]+$/.test(method) ? [] : ['<method>: enter a method of HTTP']),
    ...(isClientId(clientId) ? [] : ['--client: enter the id of the client']),
    ...(/^[\t\x20-\x7e]*$/.test(contentType) ? [] : ['--content-type: enter visible ASCII']),
    ...(parseTimestamp(timestamp) === undefined
      ? ['--timestamp: enter the epoch time in milliseconds, 13 digits']
      : []),
    ...(isNonce(nonce) ? [] : ['--nonce: enter 16 to 64 characters from A-Z, a-z, 0-9, _ and -']),
  ];
  if (problems.length > 0) {
    throw new UsageError('Invalid input:', problems);
  }
  return {
    ...readUrl(url),
    method: method.toUpperCase(),
    body,
    bodyFile,
    contentType: contentType.trim(),
    clientId,
    timestamp,
    nonce,
    algorithm: readAlgorithm(input),
  };
}

/** Path and query as entered: a parser would change escapes, and with them the signature. */
function readUrl(entered: string) {
  const [, origin, rest = ''] = /^(https?:\/\/[^/?#]+)?(\/.*)$/i.exec(entered) ?? [];
  if (rest === '') {
    throw new UsageError('The URL must begin with http://, https:// or /, and have a path.');
  }
  try {
    const target = parseRequestTarget(rest);
    if (splitQueryToken(target.query).token !== undefined) {
      throw new UsageError('Remove access_token from the URL. It would be a second credential.');
    }
    return { origin, sent: rest, path: target.sentPath, query: target.query };
  } catch (error) {
    if (error instanceof ApiError) {
      throw new UsageError('The gateway rejects this URL:', [error.message]);
    }
    throw error;
  }
}

function signVersion1(request: SignedRequest, secureKey: string) {
  const { method, query, contentType, body = Buffer.alloc(0), timestamp, algorithm } = request;
  const signedAs = coveredPart({ method, contentType, query, hasBody: body.length > 0 });
  const { signedText } = signedAs === 'query' ? signedQuery(query) : signedBody(signedAs, body);
  assertNotReplyEnvelope(signedText);
  const signature = sign({ algorithm, signedText, timestamp }, secureKey, nodeDigest);
  const shown = typeof signedText === 'string' ? signedText : Buffer.from(signedText).toString();
  const rest = withCommand(request, { 'X-Sign': signature });
  return { algorithm, signedAs, signedText: shown, ...rest };
}

function signVersion2(request: SignedRequest, secureKey: string) {
  assertReadableQuery(request.query);
  const lines = requestLines({ ...request, body: request.body ?? '' }, nodeDigest);
  const signature = signLines(lines, secureKey, nodeHmac);
  const signed = { 'X-Nonce': request.nonce, 'X-Sign-V2': signature };
  return { lines: lines.split('\n'), ...withCommand(request, signed) };
}

/** The headers, and a command for a POSIX shell. curl sends exactly the bytes that were signed. */
function withCommand(request: SignedRequest, signed: Readonly<Record<string, string>>) {
  const { method, origin, sent, body, bodyFile, contentType, clientId, timestamp } = request;
  const headers: Readonly<Record<string, string>> = {
    'X-Client-Id': clientId,
    'X-Timestamp': timestamp,
    ...signed,
    // An empty header removes the type of a form, which curl would add to a body.
    ...(contentType === '' && body === undefined ? {} : { 'Content-Type': contentType }),
  };
  const url = origin === undefined ? `"$GATEWAY_URL"${quote(sent)}` : quote(origin + sent);
  const methodOption = method === 'HEAD' ? '--head' : `--request ${method}`;
  const curl = [
    `curl --include --globoff ${methodOption} ${url}`,
    ...Object.entries(headers).map(
      ([name, value]) => `--header ${quote(`${name}:${value && ` ${value}`}`)}`,
    ),
    ...(bodyFile === undefined ? [] : [`--data-binary ${quote(`@${bodyFile}`)}`]),
  ].join(' \\\n  ');
  return { headers, curl };
}

/** A shell reads everything between single quotes as it is. */
function quote(value: string): string {
  return `'${value.replaceAll("'", `'\\''`)}'`;
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

function describe(
  name: string,
  signed:
    | { readonly problem: string }
    | { readonly curl: string; readonly signedText: string }
    | { readonly curl: string; readonly lines: readonly string[] },
): string {
  if ('problem' in signed) {
    return `${name} cannot sign this request:\n  ${signed.problem}`;
  }
  const covered = 'lines' in signed ? signed.lines : signed.signedText.split(/(?<=\n)/);
  return [
    name,
    'Signed text, with escapes for invisible characters:',
    ...covered.map((line) => `  ${visibleText(line)}`),
    'Command:',
    `  ${signed.curl.replaceAll('\n', '\n  ')}`,
  ].join('\n');
}
