import { nodeDigest } from '@gatehouse/signing';

/** What the gateway built from the request, and compared with the signature. */
export interface SignedInput {
  readonly signedAs: 'query' | 'form' | 'body' | 'lines';
  /** Text, or the bytes of the body as sent. */
  readonly signed: string | Uint8Array;
}

const MAXIMUM_TEXT_LENGTH = 1024;
const MAXIMUM_LINE_LENGTH = 160;

/**
 * Describes the signed input to the caller. Everything in it comes from the request, so it reveals
 * nothing about the client or its keys.
 */
export function describeSignedInput({ signedAs, signed }: SignedInput) {
  if (typeof signed !== 'string') {
    const sha256 = nodeDigest('SHA-256', [signed]);
    return { signedAs, expectedBody: { bytes: signed.length, sha256 } };
  }
  if (Buffer.byteLength(signed) <= MAXIMUM_TEXT_LENGTH) {
    return {
      signedAs,
      ...(signedAs === 'lines' ? { expectedLines: signed.split('\n') } : { expectedText: signed }),
    };
  }
  return {
    signedAs,
    ...(signedAs === 'lines'
      ? { expectedLines: signed.split('\n').map((line) => cut(line, MAXIMUM_LINE_LENGTH)) }
      : { expectedText: cut(signed, MAXIMUM_TEXT_LENGTH) }),
    isCut: true,
  };
}

/** The longest beginning with at most so many bytes, without a part of a character. */
function cut(text: string, bytes: number): string {
  const start = Buffer.from(text).subarray(0, bytes);
  return new TextDecoder().decode(start, { stream: true });
}
