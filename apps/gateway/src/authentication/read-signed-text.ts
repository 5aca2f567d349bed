import { coveredPart, type SignedText, signedBody, signedQuery } from '@gatehouse/signing';
import { received } from '../http/header-names.ts';
import { assertAnnouncedSize, hasBody } from '../http/request-body.ts';
import type { AuthenticationRequest } from './authenticator.ts';
import type { HeldBody } from './held-bodies.ts';
import { readSignedBody } from './read-signed-body.ts';

/**
 * Reads what a version 1 signature covers. It checks everything that it can before it reads a body.
 *
 * @throws AmbiguousTextError, ApiError `payload_too_large` or `service_unavailable`
 */
export function readSignedText(
  { message, method, credentials, bodyLimitBytes }: AuthenticationRequest,
  held: HeldBody,
): SignedText | Promise<SignedText> {
  assertAnnouncedSize(message, bodyLimitBytes);
  const part = coveredPart({
    method,
    contentType: message.headers[received.contentType],
    query: credentials.query,
    hasBody: hasBody(message),
  });
  return part === 'query'
    ? signedQuery(credentials.query)
    : readSignedBody(message, bodyLimitBytes, held).then((bytes) => signedBody(part, bytes));
}
