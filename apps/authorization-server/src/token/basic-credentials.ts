import { isUtf8 } from 'node:buffer';
import type { FailureReasonName } from '@gatehouse/errors';

type BasicProblem = Extract<
  FailureReasonName,
  | 'authorization_scheme_wrong'
  | 'basic_not_base64'
  | 'basic_not_utf8'
  | 'basic_without_colon'
  | 'basic_half_empty'
  | 'basic_not_form_encoded'
>;

/**
 * Why an Authorization header at a client endpoint is unreadable. RFC 6749 §5.2 defines this as
 * failed client authentication. The library reports `invalid_request`. The problem is evident from
 * the header alone, so naming it tells an attacker nothing.
 */
export function basicProblem(authorization: string): BasicProblem | undefined {
  const [scheme = '', ...rest] = authorization.trim().split(/ +/);
  if (scheme.toLowerCase() !== 'basic') {
    return 'authorization_scheme_wrong';
  }
  const [encoded = '', ...others] = rest;
  if (others.length > 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) {
    return 'basic_not_base64';
  }
  const bytes = Buffer.from(encoded, 'base64');
  if (!isUtf8(bytes)) {
    return 'basic_not_utf8';
  }
  const text = bytes.toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0) {
    return 'basic_without_colon';
  }
  if (colon === 0) {
    return 'basic_half_empty';
  }
  const halves = [text.slice(0, colon), text.slice(colon + 1)];
  return halves.every(isFormEncoded) ? undefined : 'basic_not_form_encoded';
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
