/** The part of a request that version 1 signs. `body` means the bytes as sent. */
export type SignedPart = 'query' | 'form' | 'body';

const QUERY_SIGNED = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);
const BODY_SIGNED = new Set(['POST', 'PUT', 'PATCH']);

/** Undefined if version 1 does not sign requests with this method. */
export function signedPart(
  method: string,
  contentType: string | undefined,
): SignedPart | undefined {
  if (QUERY_SIGNED.has(method)) {
    return 'query';
  }
  if (!BODY_SIGNED.has(method)) {
    return undefined;
  }
  return isForm(contentType) ? 'form' : 'body';
}

function isForm(contentType: string | undefined): boolean {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  return mediaType === 'application/x-www-form-urlencoded';
}
