/**
 * Explains wrong signatures. Every reply describes what the gateway built from the request. Only a
 * caller that signed with a key of the client also learns its mistake, and only for a signature and
 * a nonce that nobody has used: otherwise, an attacker with a captured request could change it and
 * learn which guesses about it are right.
 *
 *   explainMalformed (the header alone) | budget → diagnoseSignature → explainedFailure
 *
 * The work and the reply are the same for unknown, disabled and wrong-key clients: random keys
 * replace the keys that are missing.
 */
import { ApiError, type SigningReasonName } from '@gatehouse/errors';
import type { Client, ClientRegistry, ReplayGuard } from '@gatehouse/identity';
import { addressGroup } from '@gatehouse/server';
import {
  diagnoseSignature,
  explainedFailure,
  type FailedRequest,
  isClientId,
  mayBeReply,
  nodeDigest,
  nodeHmac,
  type SignatureAlgorithm,
} from '@gatehouse/signing';

/** What the gateway built from the request, and compared with the signature. */
export interface SignedInput {
  readonly signedAs: 'query' | 'form' | 'body' | 'lines';
  /** Text, or the bytes of the body as sent. */
  readonly signed: string | Uint8Array;
}

/** A request whose signature is wrong. */
export interface RejectedSignature {
  readonly request: FailedRequest;
  readonly input: SignedInput;
  readonly clientAddress: string;
}

/** The error for a header that cannot be a digest. It needs no client. */
export function explainMalformed(rejected: RejectedSignature, message: string): ApiError {
  const explanation = { message, result: describe(rejected) };
  return explainedFailure('invalid_signature', { causes: ['signature_malformed'], ...explanation });
}

export function createSignatureExplainer(dependencies: {
  readonly clients: ClientRegistry;
  readonly replayGuard: Pick<ReplayGuard, 'isUsed'>;
  readonly now: () => number;
}) {
  const { clients, replayGuard, now } = dependencies;
  const { decoyKeys } = clients;
  const mayDiagnose = createDiagnosisBudget(DIAGNOSIS_LIMITS, now);

  async function findCauses(
    { request, clientAddress }: RejectedSignature,
    client: Client | undefined,
    algorithm: SignatureAlgorithm | undefined,
  ): Promise<readonly SigningReasonName[]> {
    if (!isClientId(request.clientId) || !mayDiagnose(request.clientId, clientAddress)) {
      return [];
    }
    // Before the keys are used, so that the time does not depend on a guess either.
    // The signatures of successful replies are used, but not claimed.
    const isUsed = await replayGuard.isUsed({ ...request, nonce: request.nonce || undefined });
    if (isUsed || mayBeReply(request.body) || mayBeReply(request.query.replaceAll('%22', '"'))) {
      return [];
    }
    const own = client === undefined ? [] : clients.secureKeys(client);
    const active = [...own, ...decoyKeys].slice(0, decoyKeys.length);
    const digests = { digest: nodeDigest, hmac: nodeHmac };
    return diagnoseSignature(request, { active, algorithm }, digests) ?? [];
  }

  /**
   * @param named the client that the request names, enabled or not
   * @param algorithm the digest of the client. Undefined if it may not use this version
   */
  return async (
    rejected: RejectedSignature,
    named: Client | undefined,
    algorithm: SignatureAlgorithm | undefined,
  ): Promise<ApiError> => {
    const result = describe(rejected);
    const client = named?.enabled === true ? named : undefined;
    const [cause, ...others] = await findCauses(rejected, client, algorithm);
    const clientId = named?.clientId;
    // For the log. The reply must not contain it.
    const reason = client ? 'invalid_signature' : named ? 'client_disabled' : 'client_unknown';
    return cause === undefined
      ? new ApiError('invalid_signature', { result, reason, clientId })
      : explainedFailure('invalid_signature', { causes: [cause, ...others], result, clientId });
  };
}

function describe({ input, request }: RejectedSignature) {
  return { ...describeSignedInput(input), timestamp: request.timestamp };
}

const MAXIMUM_TEXT_LENGTH = 1024;
const MAXIMUM_LINE_LENGTH = 160;

/**
 * Describes the signed input to the caller. Everything in it comes from the request, so it reveals
 * nothing about the client or its keys.
 */
export function describeSignedInput({ signedAs, signed }: SignedInput) {
  if (typeof signed !== 'string') {
    const sha256 = nodeDigest('SHA-256', [signed]);
    return { signedAs, expectedBody: { bytes: signed.length, sha256 } };
  }
  const isCut = Buffer.byteLength(signed) > MAXIMUM_TEXT_LENGTH;
  const lineLength = isCut ? MAXIMUM_LINE_LENGTH : MAXIMUM_TEXT_LENGTH;
  return {
    signedAs,
    ...(signedAs === 'lines'
      ? { expectedLines: signed.split('\n').map((line) => cut(line, lineLength)) }
      : { expectedText: cut(signed, MAXIMUM_TEXT_LENGTH) }),
    ...(isCut && { isCut }),
  };
}

/** The longest beginning with at most so many bytes, without a part of a character. */
function cut(text: string, bytes: number): string {
  const start = Buffer.from(text).subarray(0, bytes);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(start, { stream: true });
}

/** How many wrong signatures are examined in a window. */
const DIAGNOSIS_LIMITS = {
  windowMilliseconds: 60_000,
  /** With one client id, from one address group. */
  perClient: 60,
  /** From one address group (an IPv6 /56 is one group). */
  perAddressGroup: 240,
  /** From all callers. Also bounds the memory for the counts. */
  total: 500,
};

/**
 * Whether to examine one more wrong signature. Counts client ids as presented, whether they exist
 * or not, and each within its address group. Otherwise the budget would tell an attacker elsewhere
 * whether a client sends wrong signatures, and therefore exists.
 */
export function createDiagnosisBudget(
  { windowMilliseconds, perClient, perAddressGroup, total }: typeof DIAGNOSIS_LIMITS,
  now: () => number,
) {
  const counts = new Map<string, number>();
  let windowStart = 0;

  return (clientId: string, address: string): boolean => {
    // The clock can also be set back.
    if (Math.abs(now() - windowStart) >= windowMilliseconds) {
      counts.clear();
      windowStart = now();
    }
    const group = addressGroup(address);
    const limits = { all: total, [group]: perAddressGroup, [`${group} ${clientId}`]: perClient };
    const counted = Object.entries(limits).map(([party, limit]) => {
      return { party, limit, count: counts.get(party) ?? 0 };
    });
    // Rejected attempts with one id must not use up the budget of the group.
    const isOpen = counted.every(({ count, limit }) => count < limit);
    for (const { party, count } of isOpen ? counted : []) {
      counts.set(party, count + 1);
    }
    return isOpen;
  };
}
