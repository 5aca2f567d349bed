/**
 * Names the mistake behind a wrong signature: it computes what a signer with a known mistake would
 * have sent, and compares.
 *
 *   signature-form (the length tells the digest) → version-1-attempts or version-2-attempts
 *     → work-limit → mistakes
 *
 * The request alone determines the attempts, their order and their cost, so a verifier that fills
 * missing keys with random ones spends the same work on every client.
 */

import type { SignatureAlgorithm } from '../signature.ts';
import { findMatchingKey } from '../signature.ts';
import type { Attempt, DiagnosisDigests } from './attempt.ts';
import type { DiagnosisKeys, FailedRequest } from './failed-request.ts';
import type { SigningMistake } from './signing-mistake.ts';
import { version1Attempts } from './version-1-attempts.ts';
import { version2Attempts } from './version-2-attempts.ts';
import { createWorkLimit, MAXIMUM_SIGNED_BYTES } from './work-limit.ts';

/**
 * @returns the mistakes that together explain the signature, the first of them the most important.
 *   Undefined if no known mistake explains it
 */
export function diagnoseSignature(
  request: FailedRequest,
  keys: DiagnosisKeys,
  digests: DiagnosisDigests,
): readonly SigningMistake[] | undefined {
  const algorithm: SignatureAlgorithm = request.signature.length === 32 ? 'MD5' : 'SHA-256';
  if (request.body.length > MAXIMUM_SIGNED_BYTES) {
    return undefined;
  }
  const work = createWorkLimit();
  const candidates = candidatesOf(keys);
  const attemptsOf = request.version === 1 ? version1Attempts : version2Attempts;
  for (const attempt of attemptsOf(request, { ...digests, algorithm })) {
    for (const key of candidates[attempt.keys]) {
      if (
        work.take(attempt.digests, attempt.bytes) &&
        findMatchingKey(request.signature, [key], attempt.sign) !== undefined
      ) {
        return withAlgorithm(attempt, request, algorithm, keys.algorithm);
      }
    }
  }
  return undefined;
}

function candidatesOf({
  active,
  removed,
}: DiagnosisKeys): Readonly<Record<Attempt['keys'], readonly string[]>> {
  return { newest: active.slice(0, 1), older: active.slice(1, 2), removed, none: [''] };
}

/** Without a proven key, the result must not depend on the settings of the client. */
function withAlgorithm(
  { mistakes, keys }: Attempt,
  { version }: FailedRequest,
  algorithm: SignatureAlgorithm,
  registered: SignatureAlgorithm | undefined,
): readonly SigningMistake[] {
  const isDigest =
    !mistakes.includes('hmac_in_version_1') && !mistakes.includes('version_2_text_in_version_1');
  if (version === 2 || keys === 'none' || !isDigest || registered === algorithm) {
    return mistakes;
  }
  return [...mistakes, registered === undefined ? 'version_1_not_allowed' : 'wrong_digest'];
}
