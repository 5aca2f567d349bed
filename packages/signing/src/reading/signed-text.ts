import { isUtf8 } from 'node:buffer';
import { ApiError } from '@gatehouse/errors';
import {
  AmbiguousTextError,
  canonicalText,
  encodeParameters,
  type Parameter,
  parseParameters,
  type SignedPart,
  signedPart,
} from '../version-1-text.ts';

/** A verified body. */
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

/**
 * The text that a version 1 signature of a query covers, and the parts of the request that it
 * verifies: the query without its `?`, and no body.
 *
 * @throws AmbiguousTextError
 */
export function signedQuery(sent: string) {
  const parameters = parseParameters(sent);
  return {
    part: 'query' as const,
    signedText: canonicalText(parameters),
    query: encodeParameters(parameters),
    body: undefined,
    received: NO_BODY,
  };
}

/** As `signedQuery`, for a body. `received` is the body as sent. @throws AmbiguousTextError */
export function signedBody(part: 'body' | 'form', bytes: Buffer) {
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
  if (!isUtf8(bytes) || bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) {
    const rule = 'A signed body must be UTF-8 without a byte order mark.';
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

const required = ['status', 'code', 'message', 'timestamp'] as const;
const members: ReadonlySet<string> = new Set([...required, 'result', 'expires']);

/** How every successful reply of the platform API begins. No request of version 1 may begin so. */
const successStart = Buffer.from('{"status":200,"code":"success","message":"success",');

/** Whether a text begins like a successful reply, so that version 1 never accepts it as a request. */
export function isSuccessReply(text: string | Uint8Array): boolean {
  return typeof text === 'string'
    ? text.startsWith(successStart.toString())
    : viewOf(text).subarray(0, successStart.length).equals(successStart);
}

/**
 * Version 1 signs replies like request bodies, so no request of version 1 may be a reply envelope
 * (CWE-301). This is the only defense for successful replies, and the second one for all others,
 * whose signatures are claimed before they leave.
 *
 * @throws AmbiguousTextError for a text that begins like a successful reply, and for an object that
 *   has the members of an envelope, an HTTP status, and no other member
 */
export function assertNotReplyEnvelope(signedText: string | Uint8Array): void {
  const text = typeof signedText === 'string' ? signedText : viewOf(signedText);
  if (isSuccessReply(text) || (mayBeReply(text) && isReplyEnvelope(text.toString()))) {
    throw new AmbiguousTextError(
      'A signature version 1 request must not be a reply envelope. ' +
        'Rename one of `status`, `code`, `message`, `timestamp`, or use version 2.',
      'reply_as_request',
    );
  }
}

/** The gateway never escapes a member name, so a search over the bytes spares most the parser. */
export function mayBeReply(text: string | Uint8Array): boolean {
  const searched = typeof text === 'string' ? text : viewOf(text);
  return required.every((name) => searched.includes(`"${name}"`));
}

function isReplyEnvelope(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    const { status, code, message, timestamp } = Object(value);
    return (
      Number.isInteger(status) &&
      status >= 100 &&
      status <= 599 &&
      typeof code === 'string' &&
      typeof message === 'string' &&
      typeof timestamp === 'number' &&
      Object.keys(Object(value)).every((name) => members.has(name))
    );
  } catch {
    return false;
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
