import { ApiError } from '@gatehouse/errors';
import { addressGroup } from '@gatehouse/server';
import {
  AmbiguousTextError,
  canonicalText,
  encodeParameters,
  parseParameters,
  parseRequestTarget,
  splitQueryToken,
} from '@gatehouse/signing';
import { readLifetime } from '../src/pipeline/issue-access-token.ts';

/** Characters that cause problems most often. */
const pieces = [
  '%',
  '%2',
  '%2e',
  '%2F',
  '%5c',
  '%00',
  '%zz',
  '%c0%ae',
  '%ED%A0%80',
  '%25',
  '&',
  '=',
  '+',
  '#',
  '/',
  '//',
  '..',
  '.',
  ';',
  '\\',
  '?',
  '@',
  ':',
  '[',
  ']',
  '{',
  '}',
  '"',
  ',',
  ' ',
  '\0',
  '\r\n',
  'access_token',
  'a',
  'Z',
  '9',
  'é',
  '中',
  '\u{1f600}',
  '\ud800',
  '\udc00',
  '\ufffd',
  '\u2028',
  'http://',
  '__proto__',
  'constructor',
  '"expires"',
  '1e999',
  '-0',
  'x'.repeat(300),
  '%41'.repeat(50),
];

/** xorshift32: fast and deterministic. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** All parsers of unverified input. */
function readAll(text: string): void {
  for (const read of [
    () => parseRequestTarget(text),
    () => parseRequestTarget(`/${text}`),
    () => splitQueryToken(text),
    () => {
      const parameters = parseParameters(text);
      canonicalText(parameters);
      encodeParameters(parameters);
    },
    () => readLifetime(text, { defaultSeconds: 1, maximumSeconds: 2 }),
    () => addressGroup(text),
  ]) {
    try {
      read();
    } catch (error) {
      if (!(error instanceof ApiError || error instanceof AmbiguousTextError)) {
        throw new Error(`${JSON.stringify(text)} is answered with ${String(error)}`, {
          cause: error,
        });
      }
    }
  }
}

/** @returns the longest time that one input takes, in milliseconds */
export function readRandomInputs(count: number, seed: number): number {
  const random = createRandom(seed);
  let slowest = 0;
  for (let index = 0; index < count; index += 1) {
    let text = '';
    for (let length = random(24); length > 0; length -= 1) {
      text += pieces[random(pieces.length)];
    }
    slowest = Math.max(slowest, leastMilliseconds(text));
  }
  return slowest;
}

/** Reads a slow input again: a pause of the machine is not repeated. */
function leastMilliseconds(text: string): number {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 5 && least > 5; attempt += 1) {
    const started = performance.now();
    readAll(text);
    least = Math.min(least, performance.now() - started);
  }
  return least;
}
