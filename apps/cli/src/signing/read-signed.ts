import { ApiError } from '@gatehouse/errors';
import {
  assertNotReplyEnvelope,
  assertReadableQuery,
  coveredPart,
  findLinesKey,
  findSigningKey,
  isNonce,
  nodeDigest,
  nodeHmac,
  type PresentedSignature,
  type RequestTarget,
  requestLines,
  type SignatureAlgorithm,
  signedBody,
  signedQuery,
} from '@gatehouse/signing';
import { type CapturedMessage, headerOf } from './captured-message.ts';
import type { SignedInput } from './verdict.ts';

/** What the signature of a request covers. */
export interface SignedReading {
  readonly input: SignedInput;
  hasKey(secureKey: string): boolean;
  /** @throws AmbiguousTextError */
  assertNotReply(): void;
}

interface SignedCapture {
  readonly method: string;
  readonly target: RequestTarget;
  readonly signature: PresentedSignature;
  readonly captured: CapturedMessage;
}

/** @throws AmbiguousTextError, ApiError */
export function readSigned(
  request: SignedCapture,
  algorithm: SignatureAlgorithm | undefined,
): SignedReading {
  return request.signature.version === 1
    ? readVersion1(request, algorithm ?? 'SHA-256')
    : readVersion2(request);
}

function readVersion1(
  { method, target, signature, captured }: SignedCapture,
  algorithm: SignatureAlgorithm,
): SignedReading {
  const { body } = captured;
  const part = coveredPart({
    method,
    contentType: headerOf(captured.rawHeaders, 'content-type'),
    query: target.query,
    hasBody: body.length > 0,
  });
  const { signedText } = part === 'query' ? signedQuery(target.query) : signedBody(part, body);
  const { timestamp, sign } = signature;
  return {
    input: { signedAs: part, expectedText: asText(signedText) },
    hasKey: (key) =>
      findSigningKey({ algorithm, signedText, timestamp }, sign, [key], nodeDigest) !== undefined,
    assertNotReply: () => assertNotReplyEnvelope(signedText),
  };
}

function readVersion2({ method, target, signature, captured }: SignedCapture): SignedReading {
  const { clientId, timestamp, nonce = '', sign } = signature;
  if (!isNonce(nonce)) {
    throw new ApiError('illegal_argument', {
      message: 'X-Nonce: must be 16 to 64 characters from A-Z, a-z, 0-9, _ and -',
      reason: 'nonce_malformed',
    });
  }
  assertReadableQuery(target.query);
  const contentType = headerOf(captured.rawHeaders, 'content-type') ?? '';
  const { sentPath: path, query } = target;
  const { body } = captured;
  const parts = { method, path, query, contentType, body, clientId, timestamp, nonce };
  const lines = requestLines(parts, nodeDigest);
  return {
    input: { signedAs: 'lines', expectedLines: lines.split('\n') },
    hasKey: (key) => findLinesKey(lines, sign, [key], nodeHmac) !== undefined,
    assertNotReply: () => undefined,
  };
}

function asText(signedText: string | Uint8Array): string {
  return typeof signedText === 'string' ? signedText : Buffer.from(signedText).toString();
}
