import { isUtf8 } from 'node:buffer';
import { ApiError } from '@gatehouse/api-envelope';
import {
  AmbiguousTextError,
  canonicalText,
  encodeParameters,
  parseParameters,
  type SignedPart,
  signedPart,
} from '@gatehouse/request-signature';

/** The text that a version 1 signature covers, and the parts of the request that it verifies. */
export interface SignedText {
  readonly part: SignedPart;
  readonly signedText: string | Uint8Array;
  /** The verified query, without its `?`. */
  readonly query: string;
  readonly body: SignedBody | undefined;
}

export interface SignedBody {
  readonly bytes: Uint8Array;
  /** Replaces the request's Content-Type when the body was encoded again. */
  readonly contentType: string | undefined;
}

const FORM = 'application/x-www-form-urlencoded';
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Returns the part that version 1 signs. Rejects the parts that the signature does not cover: a
 * body with a signed query, a query with a signed body.
 *
 * @throws AmbiguousTextError, ApiError `method_not_allowed`
 */
export function coveredPart(request: {
  readonly method: string;
  readonly contentType: string | undefined;
  readonly query: string;
  readonly hasBody: boolean;
}): SignedPart {
  const part = signedPart(request.method, request.contentType);
  if (part === undefined) {
    throw new ApiError('method_not_allowed');
  }
  if (part === 'query' && request.hasBody) {
    throw new AmbiguousTextError(
      'The signature of this method does not cover a body.',
      'body_with_signed_query',
    );
  }
  if (part !== 'query' && request.query !== '') {
    throw new AmbiguousTextError(
      'The signature of this method does not cover a query.',
      'query_with_signed_body',
    );
  }
  return part;
}

/** @throws AmbiguousTextError */
export function signedQuery(sent: string): SignedText {
  const parameters = parseParameters(sent);
  return {
    part: 'query',
    signedText: canonicalText(parameters),
    query: encodeParameters(parameters),
    body: undefined,
  };
}

/** @throws AmbiguousTextError */
export function signedBody(part: 'body' | 'form', bytes: Buffer): SignedText {
  const hasByteOrderMark = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  if (hasByteOrderMark || !isUtf8(bytes)) {
    throw new AmbiguousTextError(
      'A signed body must be UTF-8 without a byte order mark.',
      hasByteOrderMark ? 'body_byte_order_mark' : 'body_not_utf8',
    );
  }
  if (part === 'body') {
    return { part, signedText: bytes, query: '', body: { bytes, contentType: undefined } };
  }
  const parameters = parseParameters(bytes.toString('utf8'));
  const encoded = Buffer.from(encodeParameters(parameters));
  return {
    part,
    signedText: canonicalText(parameters),
    query: '',
    body: { bytes: encoded, contentType: FORM },
  };
}
