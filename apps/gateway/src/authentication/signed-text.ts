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
import { received } from '../http/header-names.ts';
import { assertAnnouncedSize, hasBody } from '../http/request-body.ts';
import type { AuthenticationRequest, VerifiedBody } from './authenticator.ts';
import type { HeldBody } from './held-bodies.ts';
import { readSignedBody } from './read-signed-body.ts';

/**
 * The interpretation of a signed request: what its signature covers, and what the gateway forwards.
 */
export interface SignedText {
  readonly part: SignedPart;
  readonly signedText: string | Uint8Array;
  readonly query: string;
  readonly body: VerifiedBody | undefined;
}

const FORM = 'application/x-www-form-urlencoded';
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Rejects the parts that the signature does not cover: a body with a signed query, a query with a
 * signed body.
 *
 * @throws AmbiguousTextError, ApiError `payload_too_large` or `service_unavailable`
 */
export async function readSignedText(
  request: AuthenticationRequest,
  held: HeldBody,
): Promise<SignedText> {
  const { message, credentials, bodyLimitBytes } = request;
  assertAnnouncedSize(message, bodyLimitBytes);
  const part = signedPart(message.method ?? '', message.headers[received.contentType]);
  if (part === undefined) {
    throw new ApiError('method_not_allowed');
  }
  if (part === 'query') {
    return readSignedQuery(request);
  }
  if (credentials.query !== '') {
    throw new AmbiguousTextError('The signature of this method does not cover a query.');
  }
  const bytes = await readSignedBody(message, bodyLimitBytes, held);
  if (!isUtf8(bytes) || bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) {
    throw new AmbiguousTextError('A signed body must be UTF-8 without a byte order mark.');
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

function readSignedQuery({ message, credentials }: AuthenticationRequest): SignedText {
  if (hasBody(message)) {
    throw new AmbiguousTextError('The signature of this method does not cover a body.');
  }
  const parameters = parseParameters(credentials.query);
  return {
    part: 'query',
    signedText: canonicalText(parameters),
    query: encodeParameters(parameters),
    body: undefined,
  };
}
