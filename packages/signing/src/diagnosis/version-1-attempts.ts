import { requestLines } from '../signed-lines.ts';
import { canonicalText, parseParameters, signedPart } from '../version-1-text.ts';
import { type Attempt, byteLength, type DigestsOfSignature } from './attempt.ts';
import type { FailedRequest } from './failed-request.ts';
import { interleave } from './interleave.ts';
import type { MistakenText } from './newline-texts.ts';
import type { SigningMistake } from './signing-mistake.ts';
import { mistakenTexts } from './version-1-texts.ts';
import { MAXIMUM_SPELLED_LENGTH } from './work-limit.ts';

interface Input {
  readonly text: string;
  readonly timestamp: string;
  readonly key: string;
}

/** How a signer combines text, timestamp and key. */
interface Recipe {
  readonly mistakes: readonly SigningMistake[];
  readonly isKeyless?: true;
  readonly isTimeless?: true;
  /** Default: 1. */
  readonly digests?: number;
  sign(input: Input, digests: DigestsOfSignature): string;
}

type Parts = (input: Input) => readonly string[];

const digestOf =
  (parts: Parts): Recipe['sign'] =>
  (input, { digest, algorithm }) =>
    digest(algorithm, parts(input));

const hmacOf =
  (parts: Parts): Recipe['sign'] =>
  (input, { hmac }) =>
    hmac(input.key, parts(input).join(''));

const right: Recipe = {
  mistakes: [],
  sign: digestOf(({ text, timestamp, key }) => [text, timestamp, key]),
};

/** The most common mistakes first. */
const digestRecipes: readonly Recipe[] = [
  {
    mistakes: ['timestamp_not_signed'],
    isTimeless: true,
    sign: digestOf(({ text, key }) => [text, key]),
  },
  {
    mistakes: ['key_whitespace'],
    sign: digestOf(({ text, timestamp, key }) => [text, timestamp, key, '\n']),
  },
  {
    mistakes: ['parts_in_wrong_order'],
    sign: digestOf(({ text, timestamp, key }) => [key, text, timestamp]),
  },
  {
    mistakes: ['timestamp_signed_in_seconds'],
    sign: digestOf(({ text, timestamp, key }) => [text, timestamp.slice(0, 10), key]),
  },
  {
    mistakes: ['parts_in_wrong_order'],
    sign: digestOf(({ text, timestamp, key }) => [text, key, timestamp]),
  },
  {
    mistakes: ['key_not_used'],
    isKeyless: true,
    sign: digestOf(({ text, timestamp }) => [text, timestamp]),
  },
  {
    mistakes: ['parts_in_wrong_order'],
    sign: digestOf(({ text, timestamp, key }) => [timestamp, text, key]),
  },
  {
    mistakes: ['parts_in_wrong_order'],
    sign: digestOf(({ text, timestamp, key }) => [key, timestamp, text]),
  },
  {
    mistakes: ['parts_in_wrong_order'],
    sign: digestOf(({ text, timestamp, key }) => [timestamp, key, text]),
  },
  {
    mistakes: ['parts_in_wrong_order', 'timestamp_not_signed'],
    isTimeless: true,
    sign: digestOf(({ text, key }) => [key, text]),
  },
];

const hmacRecipes: readonly Recipe[] = [
  {
    mistakes: ['hmac_in_version_1'],
    sign: hmacOf(({ text, timestamp }) => [text, timestamp]),
  },
  {
    mistakes: ['hmac_in_version_1', 'timestamp_not_signed'],
    isTimeless: true,
    sign: hmacOf(({ text }) => [text]),
  },
];

/** Attempts for X-Sign, the most common mistakes first. */
export function* version1Attempts(
  request: FailedRequest,
  digests: DigestsOfSignature,
): Generator<Attempt> {
  const part = signedPart(request.method, request.contentType);
  if (part === undefined) {
    return;
  }
  const body = new TextDecoder().decode(request.body);
  const sent = part === 'query' ? request.query : body;
  if (part !== 'body' && sent.length > MAXIMUM_SPELLED_LENGTH) {
    return;
  }
  const rightText = part === 'body' ? body : canonicalText(parseParameters(sent));
  const attempt = (
    keys: Attempt['keys'],
    { text, mistakes }: MistakenText,
    recipe: Recipe,
  ): Attempt => ({
    mistakes: [...mistakes, ...recipe.mistakes],
    keys: recipe.isKeyless === true ? 'none' : keys,
    digests: recipe.digests ?? 1,
    bytes: byteLength(text) + request.timestamp.length,
    sign: (key) => recipe.sign({ text, timestamp: request.timestamp, key }, digests),
  });
  const correct: MistakenText = { mistakes: [], text: rightText };
  yield attempt('newest', correct, right);
  yield attempt('removed', { ...correct, mistakes: ['key_removed'] }, right);
  const texts = mistakenTexts({ request, part, body, right: rightText });
  const allRecipes = recipesFor(request, digests);
  const recipesOf = (text: string) =>
    couldBeCaptured(text) ? allRecipes.filter((each) => each.isTimeless !== true) : allRecipes;
  const common = texts.filter(({ mistakes: [first] }) => first && pairedMistakes.has(first));
  const pairs = common.slice(0, 1).flatMap((text) =>
    recipesOf(text.text)
      .slice(0, 4)
      .map((recipe) => attempt('newest', text, recipe)),
  );
  const older = texts.slice(0, 1).map((text) => attempt('older', text, right));
  yield* interleave(
    [3, texts.map((text) => attempt('newest', text, right))],
    [2, recipesOf(rightText).map((recipe) => attempt('newest', correct, recipe))],
    [1, [...pairs, ...older]],
  );
}

/** Mistakes in the text that are common together with another mistake. */
const pairedMistakes: ReadonlySet<SigningMistake> = new Set([
  'parameters_unsorted',
  'parameters_encoded',
  'json_serialized_again',
]);

/** An HMAC-SHA-256 has 64 digits, so a shorter signature cannot be one. */
function recipesFor(request: FailedRequest, { algorithm }: DigestsOfSignature): readonly Recipe[] {
  if (algorithm === 'MD5') {
    return digestRecipes;
  }
  const lines: Recipe = {
    mistakes: ['version_2_text_in_version_1'],
    digests: 2,
    sign: ({ key }, { digest, hmac }) => hmac(key, requestLines(request, digest)),
  };
  return [
    ...(request.nonce === '' ? [] : [lines]),
    ...interleave([1, hmacRecipes], [3, digestRecipes]),
  ];
}

/**
 * Whether a captured signature could cover the text: that of version 1 ends with a timestamp, and
 * that of version 2 has its own first line. With an attempt that needs no current timestamp, an
 * attacker could ask with such a signature at any later time whether the client and its key still
 * exist.
 */
function couldBeCaptured(text: string): boolean {
  return /[0-9]{13}$/.test(text) || text.startsWith('GATEHOUSE-V2');
}
