import { isUtf8 } from 'node:buffer';
/**
 * Why an Authorization header at a client endpoint is unreadable. RFC 6749 §5.2 defines this as
 * failed client authentication. The library reports `invalid_request`. The problem is evident from
 * the header alone, so naming it tells an attacker nothing.
 */
export function basicProblem(authorization: string): string | undefined {
  const [scheme = '', ...rest] = authorization.trim().split(/ +/);
  if (scheme.toLowerCase() !== 'basic') {
    return 'The Authorization header of a client does not use the scheme Basic.';
  }
  const [encoded = '', ...others] = rest;
  if (others.length > 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) {
    return 'The credentials in the Authorization header are not Base64.';
  }
  const bytes = Buffer.from(encoded, 'base64');
  if (!isUtf8(bytes)) {
    return 'The decoded credentials in the Authorization header are not UTF-8.';
  }
  const text = bytes.toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0) {
    return 'The decoded credentials in the Authorization header have no colon.';
  }
  if (colon === 0) {
    return 'The client id in the Authorization header is empty.';
  }
  const halves = [text.slice(0, colon), text.slice(colon + 1)];
  return halves.every(isFormEncoded)
    ? undefined
    : 'The client id or the secret in the Authorization header has an invalid percent-encoding.';
}

/** Whether readable Basic credentials have an id and an empty secret. */
export function hasEmptySecret(authorization: string): boolean {
  const [, encoded = ''] = authorization.trim().split(/ +/);
  return /^[^:]+:$/.test(Buffer.from(encoded, 'base64').toString('utf8'));
}

function isFormEncoded(half: string): boolean {
  try {
    decodeURIComponent(half.replaceAll('+', '%20'));
    return true;
  } catch {
    return false;
  }
}
