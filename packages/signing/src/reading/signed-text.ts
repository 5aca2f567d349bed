import { isUtf8 } from 'node:buffer';
import { ApiError } from '@gatehouse/errors';
import { AmbiguousTextError } from '../ambiguous-text-error.ts';
import { canonicalText, encodeParameters, type Parameter, parseParameters } from '../parameters.ts';
import { type SignedPart, signedPart } from '../signed-part.ts';

/** The text that a version 1 signature covers, and the parts of the request that it verifies. */
export interface SignedText {
  readonly part: SignedPart;
  readonly signedText: string | Uint8Array;
  /** The verified query, without its `?`. */
  readonly query: string;
  readonly body: SignedBody | undefined;
  /** The body as sent. Empty if absent. */
  readonly received: Uint8Array;
}

export interface SignedBody {
  readonly bytes: Uint8Array;
  /** Replaces the request's Content-Type when the body was encoded again. */
  readonly contentType: string | undefined;
}

const FORM = 'application/x-www-form-urlencoded';
const NO_BODY = new Uint8Array();
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
    received: NO_BODY,
  };
}

/** @throws AmbiguousTextError */
export function signedBody(part: 'body' | 'form', bytes: Buffer): SignedText {
  assertPlainUtf8(bytes);
  if (part === 'body') {
    const body = { bytes, contentType: undefined };
    return { part, signedText: bytes, query: '', body, received: bytes };
  }
  const parameters = readForm(bytes.toString('utf8'));
  const encoded = Buffer.from(encodeParameters(parameters));
  return {
    part,
    signedText: canonicalText(parameters),
    query: '',
    body: { bytes: encoded, contentType: FORM },
    received: bytes,
  };
}

function assertPlainUtf8(bytes: Buffer): void {
  const rule = 'A signed body must be UTF-8 without a byte order mark.';
  if (!isUtf8(bytes)) {
    throw new AmbiguousTextError(rule, 'body_not_utf8');
  }
  if (bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) {
    throw new AmbiguousTextError(rule, 'body_not_utf8');
  }
}

function readForm(text: string): readonly Parameter[] {
  try {
    return parseParameters(text);
  } catch (error) {
    throw /^\s*[[{]/.test(text)
      ? new AmbiguousTextError('The body is JSON, but its type is a form.', 'form_type_on_json')
      : error;
  }
}
