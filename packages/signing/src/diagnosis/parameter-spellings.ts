import { compareCodePoints } from '../version-1-text.ts';
import { MAXIMUM_SPELLED_LENGTH } from './work-limit.ts';

/** How a signer may write the parameters of a query or form. */
export interface ParameterSpelling {
  /** Default: by the bytes of the keys. `ignoring case`: as most locales sort. */
  readonly order?: 'as sent' | 'ignoring case';
  /** Default: decoded. `literal plus`: decoded, but `+` is not a space. */
  readonly encoding?: 'as sent' | 'percent' | 'form' | 'plus for space' | 'literal plus';
  /** Default: true. The values of a repeated key are joined. */
  readonly isJoined?: false;
}

const MAXIMUM_PAIRS = 256;

/** Undefined if the parameters are long or many, or cannot be decoded. */
export function spellParameters(sent: string, spelling: ParameterSpelling): string | undefined {
  if (sent.length > MAXIMUM_SPELLED_LENGTH) {
    return undefined;
  }
  const pairs = sent.split('&', MAXIMUM_PAIRS + 1).filter((pair) => pair !== '');
  if (pairs.length > MAXIMUM_PAIRS) {
    return undefined;
  }
  try {
    const read = pairs.map((pair) => readPair(pair, spelling.encoding));
    const joined = spelling.isJoined === false ? read : joinValues(read);
    return sort(joined, spelling.order)
      .map(([key, value]) => `${key}=${value}`)
      .join('&');
  } catch {
    return undefined;
  }
}

function readPair(
  pair: string,
  encoding: ParameterSpelling['encoding'],
): readonly [key: string, value: string] {
  const equals = pair.indexOf('=');
  const end = equals === -1 ? pair.length : equals;
  return [spell(pair.slice(0, end), encoding), spell(pair.slice(end + 1), encoding)];
}

function spell(sent: string, encoding: ParameterSpelling['encoding']): string {
  if (encoding === 'as sent') {
    return sent;
  }
  if (encoding === 'literal plus') {
    return decodeURIComponent(sent);
  }
  const decoded = decodeURIComponent(sent.replaceAll('+', ' '));
  switch (encoding) {
    case 'percent':
      return encodeURIComponent(decoded);
    case 'form':
      return encodeURIComponent(decoded).replaceAll('%20', '+');
    case 'plus for space':
      return decoded.replaceAll(' ', '+');
    default:
      return decoded;
  }
}

function joinValues(pairs: readonly (readonly [string, string])[]) {
  const joined = new Map<string, string>();
  for (const [key, value] of pairs) {
    const earlier = joined.get(key);
    joined.set(key, earlier === undefined ? value : `${earlier},${value}`);
  }
  return [...joined];
}

function sort(pairs: readonly (readonly [string, string])[], order: ParameterSpelling['order']) {
  if (order === 'as sent') {
    return pairs;
  }
  const sortKey = (key: string) => (order === 'ignoring case' ? key.toLowerCase() : key);
  return pairs.toSorted(([a], [b]) => compareCodePoints(sortKey(a), sortKey(b)));
}
