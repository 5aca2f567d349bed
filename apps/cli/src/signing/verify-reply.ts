import {
  findLinesKey,
  findSigningKey,
  nodeDigest,
  nodeHmac,
  replyLines,
  type SignatureAlgorithm,
} from '@gatehouse/signing';
import { UsageError } from '../command-line/command.ts';
import { type CapturedMessage, headerOf } from './captured-message.ts';
import type { ReplyMistakeName } from './reply-mistakes.ts';
import type { SignedInput, Verdict } from './verdict.ts';
import type { CheckingKey } from './verify-request.ts';

interface SignedReply {
  readonly status: number;
  readonly body: Buffer;
  readonly timestamp: string;
  readonly signature: string;
}

/**
 * Checks the signature of a captured reply.
 *
 * @param nonce the X-Nonce of the request. Version 2 needs it
 * @throws UsageError if the nonce is missing
 */
export function verifyReply(
  captured: CapturedMessage,
  key: CheckingKey,
  nonce: string | undefined,
): Verdict {
  const { rawHeaders, body, notes } = captured;
  const version1 = headerOf(rawHeaders, 'x-sign');
  const version2 = headerOf(rawHeaders, 'x-sign-v2');
  const timestamp = headerOf(rawHeaders, 'x-timestamp') ?? '';
  const status = Number(captured.startLine.split(' ')[1]);
  const signature = version2 ?? version1;
  if (signature === undefined) {
    const message = describeUnsigned(body);
    return { isVerified: false, version: undefined, causes: ['reply_unsigned'], message, notes };
  }
  const reply = { status, body, timestamp, signature };
  if (version2 !== undefined) {
    if (nonce === undefined) {
      throw new UsageError('A reply of version 2 belongs to one request. Add its X-Nonce: --nonce');
    }
    return { ...verifyVersion2(reply, key.secureKey, nonce), version: 2, timestamp, notes };
  }
  const found = verifyVersion1(reply, key);
  const others = found.isVerified ? envelopeNotes(reply) : [];
  return { ...found, version: 1, timestamp, notes: [...notes, ...others] };
}

type Finding = Pick<Verdict, 'isVerified' | 'causes' | 'signed'>;

function verifyVersion1(
  { body, timestamp, signature }: SignedReply,
  { secureKey, algorithm = 'SHA-256' }: CheckingKey,
): Finding {
  const isSigned = (signedText: Uint8Array, digest: SignatureAlgorithm) =>
    findSigningKey(
      { algorithm: digest, signedText, timestamp },
      signature,
      [secureKey],
      nodeDigest,
    ) !== undefined;
  const signed: SignedInput = bodyInput(body);
  if (isSigned(body, algorithm)) {
    return { isVerified: true, causes: [], signed };
  }
  const others = otherBodies(body);
  const cause: ReplyMistakeName = others.some((other) => isSigned(other, algorithm))
    ? 'reply_body_changed'
    : isSigned(body, algorithm === 'MD5' ? 'SHA-256' : 'MD5')
      ? 'reply_other_digest'
      : 'reply_signature_wrong';
  return { isVerified: false, causes: [cause], signed };
}

function verifyVersion2(
  { status, body, timestamp, signature }: SignedReply,
  secureKey: string,
  nonce: string,
): Finding {
  const linesOf = (bytes: Buffer) =>
    replyLines({ status, nonce, body: bytes, timestamp }, nodeDigest);
  const isSigned = (bytes: Buffer) =>
    findLinesKey(linesOf(bytes), signature, [secureKey], nodeHmac) !== undefined;
  const signed: SignedInput = { signedAs: 'lines', expectedLines: linesOf(body).split('\n') };
  if (isSigned(body)) {
    return { isVerified: true, causes: [], signed };
  }
  const isChanged = otherBodies(body).some(isSigned);
  const cause = isChanged ? 'reply_body_changed' : 'reply_v2_signature_wrong';
  return { isVerified: false, causes: [cause], signed };
}

function bodyInput(body: Buffer): SignedInput {
  const sha256 = nodeDigest('SHA-256', [body]);
  return { signedAs: 'body', expectedBody: { bytes: body.length, sha256 } };
}

/** The body before an editor or a program changed its line breaks. */
function otherBodies(body: Buffer): readonly Buffer[] {
  const text = body.toString('latin1');
  const texts = [
    text.replace(/\r?\n$/, ''),
    `${text}\n`,
    text.replaceAll('\r\n', '\n'),
    text.replaceAll(/\r?\n/g, '\r\n'),
  ];
  return texts.filter((other) => other !== text).map((other) => Buffer.from(other, 'latin1'));
}

/** Version 1 does not cover the status, so the envelope must repeat it. */
function envelopeNotes({ status, body }: SignedReply): readonly string[] {
  try {
    const envelope: unknown = JSON.parse(body.toString());
    if (Object(envelope).status === status) {
      return [];
    }
  } catch {
    // Not JSON, and therefore no envelope.
  }
  return [
    'Version 1 does not cover the status, and the body does not repeat it. Do not rely on it.',
  ];
}

function describeUnsigned(body: Buffer): string | undefined {
  try {
    const { code, message } = Object(JSON.parse(body.toString()));
    return typeof code === 'string'
      ? `The reply has no signature. It reports ${code}: ${String(message)}`
      : undefined;
  } catch {
    return undefined;
  }
}
