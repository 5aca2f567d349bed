import { AmbiguousTextError } from './ambiguous-text-error.ts';
import { compareCodePoints } from './compare-code-points.ts';

/** One decoded key with its decoded value; the values of a repeated key are already joined. */
export type Parameter = readonly [key: string, value: string];

/** Any pair may end here: in signed text it would read like the start of the next one. */
const CONTROL = /\p{Cc}/u;

/**
 * Reads a query (without its `?`) or a form body into its one meaning: decoded, `+` is a space, `a` means
 * `a=`, an empty pair is dropped, repeated keys joined by `,` in order of arrival, ordered by the bytes of the key.
 *
 * @throws AmbiguousTextError when the text has no single meaning
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
 * Decoded pairs in order of arrival → the parameters that are signed and sent.
 *
 * @throws AmbiguousTextError when a key or value cannot be signed without ambiguity
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

/** The text that is signed: `key=value&key=value`, decoded. */
export function canonicalText(parameters: readonly Parameter[]): string {
  return parameters.map(([key, value]) => `${key}=${value}`).join('&');
}

/** The same parameters as a query or form body: what is verified is what is forwarded. */
export function encodeParameters(parameters: readonly Parameter[]): string {
  return parameters
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`)
    .join('&');
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new AmbiguousTextError('A parameter is not valid percent-encoded UTF-8.');
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
