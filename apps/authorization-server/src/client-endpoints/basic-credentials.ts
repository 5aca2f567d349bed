import { isUtf8 } from 'node:buffer';

/**
 * Whether an Authorization header at a client endpoint is unreadable: another scheme, invalid base64, no colon, an empty
 * id or secret, or an invalid form encoding. RFC 6749 §5.2 defines this as failed client authentication. The library
 * reports `invalid_request`.
 */
export function isMalformedBasic(authorization: string): boolean {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization.trim()) ?? [];
  if (encoded === undefined) {
    return true;
  }
  const text = decodeUtf8(Buffer.from(encoded, 'base64'));
  const colon = text?.indexOf(':') ?? -1;
  return (
    text === undefined ||
    !isFormEncoded(text.slice(0, Math.max(colon, 0))) ||
    !isFormEncoded(text.slice(colon + 1))
  );
}

function isFormEncoded(half: string): boolean {
  if (half === '') {
    return false;
  }
  try {
    decodeURIComponent(half.replaceAll('+', '%20'));
    return true;
  } catch {
    return false;
  }
}

function decodeUtf8(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}
