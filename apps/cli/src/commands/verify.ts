import { parseTimestamp, type SignatureAlgorithm } from '@gatehouse/signing';
import { type OfflineCommand, text, UsageError } from '../command-line/command.ts';
import {
  keyFileOption,
  keyNote,
  keyProblem,
  readSecureKey,
} from '../command-line/read-secure-key.ts';
import { readAlgorithm } from '../signing/algorithm.ts';
import { readCapture } from '../signing/captured-message.ts';
import { describeVerdict, explain } from '../signing/describe-verdict.ts';
import type { Verdict } from '../signing/verdict.ts';
import { verifyReply } from '../signing/verify-reply.ts';
import { verifyRequest } from '../signing/verify-request.ts';

const VERSION_2_ONLY = 'HMAC-SHA-256';
const UNCHECKED =
  'Not checked, because only the gateway knows it: whether the client exists, is enabled and has this key and digest, its addresses, its scopes, and whether the signature was used before.';

export const verifyCommand: OfflineCommand = {
  name: 'verify',
  summary: 'Check a captured request or a signed reply, and name the mistake.',
  positionals: ['file'],
  options: {
    'key-file': keyFileOption,
    'body-file': { type: 'string', description: 'File with the body, if the capture has none.' },
    algorithm: {
      type: 'string',
      description:
        'Registered for the client: SHA-256, MD5, or HMAC-SHA-256 (version 2 only). Default: SHA-256.',
    },
    nonce: { type: 'string', description: 'X-Nonce of the request, for a reply of version 2.' },
  },
  notes: [
    'The file has the request line or status line, headers, an empty line, and the body. - is',
    'standard input. The output of curl --include is such a reply. From the output of curl',
    '--verbose, the command reads the request, and --body-file names its body.',
    keyNote,
    'Exit code 0: verified. 1: not verified.',
    'docs/signing.md explains each cause.',
  ],
  async runOffline(input, context) {
    const [file = '', bodyFile] = [input.positionals.file, text(input.options['body-file'])];
    const algorithm = readRegistered(text(input.options.algorithm));
    if (file === '-' && bodyFile === '-') {
      throw new UsageError('Standard input can contain the capture or the body, not both.');
    }
    const secureKey = await readSecureKey(input, context, file === '-' || bodyFile === '-');
    const capture = await context.readBytes(file);
    const body = bodyFile === undefined ? undefined : await context.readBytes(bodyFile);
    const captured = readCapture(capture, body);
    const isReply = captured.startLine.startsWith('HTTP/');
    const key = { secureKey, algorithm };
    const verdict = isReply
      ? verifyReply(captured, key, text(input.options.nonce))
      : verifyRequest(captured, key);
    const notes = [
      ...notesOf(verdict, context.now(), keyProblem(secureKey)),
      ...(isReply || !verdict.isVerified ? [] : [UNCHECKED]),
    ];
    const { isVerified, version, code, message, signed, timestamp } = verdict;
    const causes = verdict.causes.map(explain);
    return {
      json: { isVerified, version, code, message, causes, signed, timestamp, notes },
      text: describeVerdict(verdict, notes),
      isFailure: !isVerified,
    };
  },
};

/** Undefined: the client may use only version 2. */
function readRegistered(entered: string | undefined): SignatureAlgorithm | undefined {
  return entered?.toUpperCase() === VERSION_2_ONLY ? undefined : readAlgorithm(entered);
}

function notesOf(
  { notes, timestamp }: Verdict,
  now: number,
  keyNote: string | undefined,
): readonly string[] {
  const time = parseTimestamp(timestamp ?? '');
  return [
    ...notes,
    ...(keyNote === undefined ? [] : [keyNote]),
    ...(time === undefined ? [] : [describeAge(time, now)]),
  ];
}

function describeAge(time: number, now: number): string {
  const at = new Date(time).toISOString();
  const seconds = Math.round(Math.abs(now - time) / 1000);
  const relation = time > now ? 'in the future of' : 'before';
  return `X-Timestamp is ${at}, ${duration(seconds)} ${relation} this check. The gateway accepts a difference of five minutes.`;
}

function duration(seconds: number): string {
  const units = [
    [86_400, 'days'],
    [3600, 'hours'],
    [60, 'minutes'],
  ] as const;
  const unit = units.find(([size]) => seconds >= 2 * size);
  return unit === undefined ? `${seconds} seconds` : `${Math.floor(seconds / unit[0])} ${unit[1]}`;
}
