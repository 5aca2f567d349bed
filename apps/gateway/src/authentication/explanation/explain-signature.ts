/**
 * Explains wrong signatures. Every reply describes what the gateway built from the request. Only a
 * caller that signed with a key of the client also learns its mistake, and only for a signature and
 * a nonce that nobody has used: otherwise, an attacker with a captured request could change it and
 * learn which guesses about it are right.
 *
 *   malformedSignature (the header alone) → diagnosis-budget → diagnoseSignature
 *     → explainedFailure, with signed-input
 *
 * The work and the reply are the same for unknown, disabled and wrong-key clients: random keys
 * replace the keys that are missing (SG-36).
 */

import type { SigningReasonName } from '@gatehouse/errors';
import { ApiError } from '@gatehouse/errors';
import {
  type Client,
  type ClientRegistry,
  generateSecureKey,
  MAXIMUM_ACTIVE_KEYS,
  type ReplayGuard,
} from '@gatehouse/identity';
import {
  diagnoseSignature,
  explainedFailure,
  type FailedRequest,
  isClientId,
  type MalformedSignature,
  nodeDigest,
  nodeHmac,
  type SignatureAlgorithm,
} from '@gatehouse/signing';
import { createDiagnosisBudget, DIAGNOSIS_LIMITS } from './diagnosis-budget.ts';
import { describeSignedInput, type SignedInput } from './signed-input.ts';

/** A request whose signature is wrong, and what the gateway compared with the signature. */
export interface RejectedSignature {
  readonly request: FailedRequest;
  readonly input: SignedInput;
  readonly clientAddress: string;
}

/**
 * @param named the client that the request names, enabled or not
 * @param algorithm the digest of the client. Undefined if it may not use this version
 */
export type SignatureExplainer = (
  rejected: RejectedSignature,
  named: Client | undefined,
  algorithm: SignatureAlgorithm | undefined,
) => Promise<ApiError>;

/** The error for a header that cannot be a digest. It needs no client. */
export function explainMalformed(
  rejected: RejectedSignature,
  { reason, message }: MalformedSignature,
): ApiError {
  const result = describe(rejected);
  return explainedFailure('invalid_signature', { causes: [reason], message, result });
}

export function createSignatureExplainer(dependencies: {
  readonly clients: ClientRegistry;
  readonly replayGuard: Pick<ReplayGuard, 'isUsed'>;
  readonly now: () => number;
}): SignatureExplainer {
  const { clients, replayGuard, now } = dependencies;
  const mayDiagnose = createDiagnosisBudget(DIAGNOSIS_LIMITS, now);
  const decoyKeys = Array.from({ length: MAXIMUM_ACTIVE_KEYS }, () => generateSecureKey());
  const pad = (keys: readonly string[]) => [...keys, ...decoyKeys].slice(0, MAXIMUM_ACTIVE_KEYS);

  async function findCauses(
    { request, clientAddress }: RejectedSignature,
    client: Client | undefined,
    algorithm: SignatureAlgorithm | undefined,
  ): Promise<readonly SigningReasonName[]> {
    if (!isClientId(request.clientId) || !mayDiagnose(request.clientId, clientAddress)) {
      return [];
    }
    // Before the keys are used, so that the time does not depend on a guess either.
    if (await replayGuard.isUsed({ ...request, nonce: request.nonce || undefined })) {
      return [];
    }
    const keys = {
      active: pad(client === undefined ? [] : clients.secureKeys(client)),
      removed: pad(client === undefined ? [] : clients.removedSecureKeys(client)),
      algorithm,
    };
    return diagnoseSignature(request, keys, { digest: nodeDigest, hmac: nodeHmac }) ?? [];
  }

  return async (rejected, named, algorithm) => {
    const result = describe(rejected);
    const client = named?.enabled === true ? named : undefined;
    const [cause, ...others] = await findCauses(rejected, client, algorithm);
    const clientId = named?.clientId;
    return cause === undefined
      ? new ApiError('invalid_signature', { result, reason: hiddenReason(named), clientId })
      : explainedFailure('invalid_signature', { causes: [cause, ...others], result, clientId });
  };
}

function describe({ input, request }: RejectedSignature) {
  return { ...describeSignedInput(input), timestamp: request.timestamp };
}

/** For the log. The reply must not contain it. */
function hiddenReason(named: Client | undefined): SigningReasonName {
  if (named === undefined) {
    return 'signing_client_unknown';
  }
  return named.enabled ? 'signature_unexplained' : 'signing_client_disabled';
}
