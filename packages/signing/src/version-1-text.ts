/** The text that version 1 signs: sorted and decoded parameters, or the body as sent. */

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
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  return mediaType === 'application/x-www-form-urlencoded' ? 'form' : 'body';
}

/** A decoded key and value. The values of a repeated key are joined. */
export type Parameter = readonly [key: string, value: string];

const CONTROL = /\p{Cc}/u;

/**
 * Parses a query (without `?`) or a form body. `+` is a space and `a` means `a=`. Empty pairs are
 * dropped. The values of a repeated key are joined by `,` in order of arrival, and keys are ordered
 * by their bytes.
 *
 * @throws AmbiguousTextError if the text has more than one meaning
 */
export function parseParameters(text: string): readonly Parameter[] {
  if (text === '') {
    return [];
  }
  const pairs: Parameter[] = [];
  for (const pair of text.split('&')) {
    if (pair !== '') {
      const equals = pair.indexOf('=');
      const end = equals === -1 ? pair.length : equals;
      pairs.push([decode(pair.slice(0, end)), decode(pair.slice(end + 1))]);
    }
  }
  return toParameters(pairs);
}

/**
 * Joins and orders decoded pairs.
 *
 * @throws AmbiguousTextError if the signed text would have more than one meaning
 */
export function toParameters(pairs: Iterable<Parameter>): readonly Parameter[] {
  const joined = new Map<string, string>();
  for (const [key, value] of pairs) {
    assertUnambiguous(key, value);
    const earlier = joined.get(key);
    joined.set(key, earlier === undefined ? value : `${earlier},${value}`);
  }
  return [...joined].sort(([left], [right]) => compareCodePoints(left, right));
}

/** The signed text: `key=value&key=value`, decoded. */
export function canonicalText(parameters: readonly Parameter[]): string {
  return parameters.map(([key, value]) => `${key}=${value}`).join('&');
}

/** Encodes parameters as a query or form body. The gateway forwards what it verified. */
export function encodeParameters(parameters: readonly Parameter[]): string {
  return parameters
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`)
    .join('&');
}

function decode(text: string): string {
  const decoded = decodeForm(text);
  if (decoded === undefined) {
    throw new AmbiguousTextError('A parameter is not valid percent-encoded UTF-8.');
  }
  return decoded;
}

/** A decoded part of a query or form, where `+` is a space. Undefined if an escape is invalid. */
export function decodeForm(text: string): string | undefined {
  return text.includes('+') ? decodeOnce(text.replaceAll('+', ' ')) : decodeOnce(text);
}

/** Undefined if an escape is invalid. */
export function decodeOnce(text: string): string | undefined {
  if (!text.includes('%')) {
    return text;
  }
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function assertUnambiguous(key: string, value: string): void {
  if (key === '') {
    throw new AmbiguousTextError('A parameter has a value but no key.');
  }
  if (key.includes('&') || key.includes('=') || CONTROL.test(key)) {
    throw new AmbiguousTextError('A key must not contain "&", "=" or a control character.');
  }
  if (value.includes('&') || CONTROL.test(value)) {
    throw new AmbiguousTextError('A value must not contain "&" or a control character.');
  }
  if (!key.isWellFormed() || !value.isWellFormed()) {
    throw new AmbiguousTextError('A parameter is not valid Unicode.');
  }
}

/**
 * Orders text by its UTF-8 bytes, which is the order of its code points. JavaScript compares UTF-16
 * units instead, and puts U+1F600 (surrogates, D83D…) before U+FFFD.
 */
export function compareCodePoints(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const difference = rank(left.charCodeAt(index)) - rank(right.charCodeAt(index));
    if (difference !== 0) {
      return difference;
    }
  }
  return left.length - right.length;
}

/** Moves surrogates (D800–DFFF) above the rest of the basic plane (E000–FFFF). */
function rank(unit: number): number {
  if (unit < 0xd800) {
    return unit;
  }
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/** Names in `packages/errors`. */
export type AmbiguityReason =
  | 'parameter_ambiguous'
  | 'query_with_signed_body'
  | 'body_with_signed_query'
  | 'body_not_utf8'
  | 'form_type_on_json'
  | 'reply_as_request';

/** A text with two readings. A signature over it proves nothing. */
export class AmbiguousTextError extends Error {
  readonly reason: AmbiguityReason;

  constructor(message: string, reason: AmbiguityReason = 'parameter_ambiguous') {
    super(message);
    this.name = 'AmbiguousTextError';
    this.reason = reason;
  }
}
