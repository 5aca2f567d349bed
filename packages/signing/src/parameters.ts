import { AmbiguousTextError } from './ambiguous-text-error.ts';
import { compareCodePoints } from './compare-code-points.ts';

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
  if (!text.includes('%') && !text.includes('+')) {
    return text;
  }
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
