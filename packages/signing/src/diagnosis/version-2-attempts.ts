import { requestLines } from '../signed-lines.ts';
import { canonicalText, parseParameters, signedPart } from '../version-1-text.ts';
import { type Attempt, byteLength, type DigestsOfSignature } from './attempt.ts';
import type { FailedRequest } from './failed-request.ts';
import { interleave } from './interleave.ts';
import { type MistakenLines, mistakenLines } from './mistaken-lines.ts';
import type { SigningMistake } from './signing-mistake.ts';
import { MAXIMUM_SPELLED_LENGTH } from './work-limit.ts';

/** How a signer combines text and key. */
interface Recipe {
  readonly mistake: SigningMistake;
  sign(text: string, key: string, digests: DigestsOfSignature): string;
}

/** The most common mistakes first. */
const recipes: readonly Recipe[] = [
  { mistake: 'key_whitespace', sign: (text, key, { hmac }) => hmac(`${key}\n`, text) },
  {
    mistake: 'digest_in_version_2',
    sign: (text, key, { digest }) => digest('SHA-256', [text, key]),
  },
  // The arguments of the HMAC are exchanged.
  { mistake: 'parts_in_wrong_order', sign: (text, key, { hmac }) => hmac(text, key) },
];

/** What a signer of version 1 would send as X-Sign-V2. */
const version1Recipes: readonly Recipe['sign'][] = [
  (text, key, { digest }) => digest('SHA-256', [text, key]),
  (text, key, { hmac }) => hmac(key, text),
];

/** Attempts for X-Sign-V2, the most common mistakes first. */
export function* version2Attempts(
  request: FailedRequest,
  digests: DigestsOfSignature,
): Generator<Attempt> {
  const text = requestLines(request, digests.digest);
  const bytes = byteLength(text);
  yield {
    mistakes: ['key_removed'],
    keys: 'removed',
    // The first attempt also counts the digest of the body.
    digests: 2,
    bytes: bytes + request.body.length,
    sign: (key) => digests.hmac(key, text),
  };
  if (bytes > MAXIMUM_SPELLED_LENGTH) {
    return;
  }
  const changes = mistakenLines(request, text.split('\n')).map((lines) => ofLines(lines, digests));
  const combinations = recipes.map(
    ({ mistake, sign }): Attempt => ({
      mistakes: [mistake],
      keys: 'newest',
      digests: 1,
      bytes,
      sign: (key) => sign(text, key, digests),
    }),
  );
  const older = changes.slice(0, 1).map((each): Attempt => ({ ...each, keys: 'older' }));
  yield* interleave(
    [3, changes],
    [1, [...ofVersion1(request, digests), ...combinations, ...older]],
  );
}

function ofLines(
  { mistakes, lines, separator = '\n', hashed }: MistakenLines,
  { digest, hmac }: DigestsOfSignature,
): Attempt {
  const before = lines.slice(0, 5);
  const after = lines.slice(6);
  const written = () =>
    hashed === undefined ? lines : [...before, digest('SHA-256', [hashed]), ...after];
  const bytes = byteLength(lines.join(separator));
  return {
    mistakes,
    keys: 'newest',
    digests: hashed === undefined ? 1 : 2,
    bytes: hashed === undefined ? bytes : bytes + byteLength(hashed),
    sign: (key) => hmac(key, written().join(separator)),
  };
}

function ofVersion1(request: FailedRequest, digests: DigestsOfSignature): readonly Attempt[] {
  const text = textOfVersion1(request);
  if (text === undefined) {
    return [];
  }
  const signed = text + request.timestamp;
  return version1Recipes.map((sign) => ({
    mistakes: ['version_1_text_in_version_2'],
    keys: 'newest',
    digests: 1,
    bytes: byteLength(signed),
    sign: (key) => sign(signed, key, digests),
  }));
}

/** Undefined if version 1 cannot sign the request, or the parameters are long. */
function textOfVersion1({ method, contentType, query, body }: FailedRequest): string | undefined {
  const part = signedPart(method, contentType);
  const sent = part === 'query' ? query : new TextDecoder().decode(body);
  if (part === undefined || part === 'body') {
    return part && sent;
  }
  try {
    return sent.length > MAXIMUM_SPELLED_LENGTH ? undefined : canonicalText(parseParameters(sent));
  } catch {
    return undefined;
  }
}
