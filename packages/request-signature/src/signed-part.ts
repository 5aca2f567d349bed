/** Where the signed text of a request comes from: its query, its form parameters, or its body as it is. */
export type SignedPart = 'query' | 'form' | 'body';

const QUERY_SIGNED = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);
const BODY_SIGNED = new Set(['POST', 'PUT', 'PATCH']);

/** What a request with this method and content type signs, or undefined when the method cannot be signed. */
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
