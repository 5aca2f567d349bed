import { randomBytes } from 'node:crypto';
import { isClientId, isNonce, parseTimestamp } from '@gatehouse/signing';
import {
  type CommandInput,
  type OfflineCommand,
  type OfflineContext,
  type Option,
  text,
  UsageError,
} from '../command-line/command.ts';
import {
  keyFileOption,
  keyNote,
  keyProblem,
  readSecureKey,
} from '../command-line/read-secure-key.ts';
import { readAlgorithm } from '../signing/algorithm.ts';
import { curlCommand } from '../signing/curl-command.ts';
import { describeSigning } from '../signing/describe-signing.ts';
import { readUrl } from '../signing/request-url.ts';
import { type Header, type RequestInput, signRequest } from '../signing/sign-request.ts';

const NONCE_BYTES = 18;

const algorithmOption: Option = {
  type: 'string',
  description:
    'Digest of version 1, as registered for the client: SHA-256 or MD5. Default: SHA-256.',
};

export const signCommand: OfflineCommand = {
  name: 'sign',
  summary: 'Sign a request: print the signed text, the headers and a curl command.',
  positionals: ['method', 'url'],
  options: {
    client: { type: 'string', description: 'Client id.' },
    'key-file': keyFileOption,
    'body-file': { type: 'string', description: 'File with the body. - is standard input.' },
    'content-type': {
      type: 'string',
      description: 'Content-Type of the body. Default: application/json.',
    },
    algorithm: algorithmOption,
    timestamp: { type: 'string', description: 'X-Timestamp. Default: now.' },
    nonce: { type: 'string', description: 'X-Nonce of version 2. Default: random.' },
  },
  notes: [
    'The URL is a URL or only path and query, exactly as sent.',
    keyNote,
    'The gateway accepts each command once, within five minutes after X-Timestamp.',
    'docs/signing.md specifies the signatures.',
  ],
  async runOffline(input, context) {
    const [method = '', url = ''] = [input.positionals.method, input.positionals.url];
    const { origin, target, parsed } = readUrl(url);
    const bodyFile = text(input.options['body-file']);
    const secureKey = await readSecureKey(input, context, bodyFile === '-');
    const request: RequestInput = {
      method: readMethod(method),
      target: parsed,
      ...(await readBody(input, context)),
      ...readValues(input, context.now()),
    };
    const signed = signRequest(request, secureKey);
    const curl = { method: request.method, origin, target, bodyFile };
    const notes = notesOf(request, { origin, bodyFile, secureKey });
    return {
      json: {
        ...mapVersion('version1', signed.version1, curl),
        ...mapVersion('version2', signed.version2, curl),
        notes,
      },
      text: [describeSigning(signed, curl), ...notes.map((note) => `Note: ${note}`)].join('\n\n'),
    };
  },
};

function readMethod(entered: string): string {
  if (!/^[A-Za-z]+$/.test(entered)) {
    throw new UsageError('The method must be a method of HTTP, such as GET or POST.');
  }
  return entered.toUpperCase();
}

async function readBody(
  { options }: CommandInput,
  { readBytes }: OfflineContext,
): Promise<Pick<RequestInput, 'body' | 'contentType'>> {
  const file = text(options['body-file']);
  const body = file === undefined ? undefined : await readBytes(file);
  const contentType = text(options['content-type']) ?? (body && 'application/json') ?? '';
  if (!/^[\t\x20-\x7e]*$/.test(contentType)) {
    throw new UsageError('--content-type must be visible ASCII.');
  }
  return { body, contentType: contentType.trim() };
}

function readValues(
  { options }: CommandInput,
  now: number,
): Pick<RequestInput, 'clientId' | 'timestamp' | 'nonce' | 'algorithm'> {
  const clientId = text(options.client) ?? '';
  const timestamp = text(options.timestamp) ?? String(now);
  const nonce = text(options.nonce) ?? randomBytes(NONCE_BYTES).toString('base64url');
  const problems = [
    ...(isClientId(clientId) ? [] : ['--client: enter the id of the client']),
    ...(parseTimestamp(timestamp) === undefined
      ? ['--timestamp: enter the epoch time in milliseconds, 13 digits']
      : []),
    ...(isNonce(nonce) ? [] : ['--nonce: enter 16 to 64 characters from A-Z, a-z, 0-9, _ and -']),
  ];
  if (problems.length > 0) {
    throw new UsageError('Invalid input:', problems);
  }
  return { clientId, timestamp, nonce, algorithm: readAlgorithm(text(options.algorithm)) };
}

function notesOf(
  { body }: RequestInput,
  given: { origin: string | undefined; bodyFile: string | undefined; secureKey: string },
): readonly string[] {
  const problem = keyProblem(given.secureKey);
  return [
    ...(problem === undefined ? [] : [problem]),
    ...(given.origin === undefined ? ['Set GATEWAY_URL to the address of the gateway.'] : []),
    ...(given.bodyFile === '-' ? ['Send the same body to the standard input of curl.'] : []),
    ...(body?.at(-1) === 0x0a
      ? ['The body ends with a line feed, which is signed and sent as part of it.']
      : []),
  ];
}

function mapVersion(
  name: string,
  signed: { readonly headers: readonly Header[] } | { readonly problem: string },
  curl: Omit<Parameters<typeof curlCommand>[0], 'headers'>,
) {
  if ('problem' in signed) {
    return { [name]: signed };
  }
  const { headers } = signed;
  return {
    [name]: {
      ...signed,
      headers: Object.fromEntries(headers),
      curl: curlCommand({ ...curl, headers }),
    },
  };
}
