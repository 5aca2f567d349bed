import { ApiError } from '@gatehouse/errors';
import type { Client, ClientPrincipals, ClientRegistry, ReplayGuard } from '@gatehouse/identity';
import { addressGroup } from '@gatehouse/server';
import {
  AmbiguousTextError,
  explainedFailure,
  isClientId,
  isTimely,
  malformedSignature,
  type PresentedSignature,
  parseTimestamp,
} from '@gatehouse/signing';
import { bearerChallenge } from '../messages.ts';
import {
  createSignatureExplainer,
  explainMalformed,
  type RejectedSignature,
} from './explain-signature.ts';
import { createHeldBodies, type HeldBodiesLimits, type HeldBody } from './held-bodies.ts';
import { createVersion1, type SignedRequest, version2 } from './signature-versions.ts';
import {
  type AuthenticationRequest,
  assertAllowedAddress,
  type VerifiedRequest,
} from './verified-request.ts';

export interface SignedRequestDependencies {
  readonly principalOf: ClientPrincipals;
  readonly clients: ClientRegistry;
  readonly replayGuard: ReplayGuard;
  /** The budgets of the signatures that a client and its organization can use. */
  readonly signatures: {
    assertOpen(client: Client): void;
    count(client: Client): Promise<void>;
  };
  readonly heldBodies: HeldBodiesLimits;
  readonly now: () => number;
  readonly signatureToleranceMilliseconds: number;
  /** Rejects MD5 and repeated signatures. */
  readonly strict: boolean;
}

/**
 * Method A, in both versions: headers → timestamp → signed text → client → signature → address →
 * first use → budget. If a step fails, the reply is not signed.
 */
export function createSignedRequestVerifier(dependencies: SignedRequestDependencies) {
  const { clients, principalOf, replayGuard, signatures, now, strict } = dependencies;
  const { signatureToleranceMilliseconds: tolerance } = dependencies;
  const holdBody = createHeldBodies(dependencies.heldBodies);
  const { decoyKeys } = clients;
  const versions = { 1: createVersion1(strict, decoyKeys), 2: version2 } as const;
  const explain = createSignatureExplainer(dependencies);

  async function verify(
    presented: PresentedSignature,
    request: AuthenticationRequest,
    held: HeldBody,
  ): Promise<VerifiedRequest> {
    const timestamp = readTimestamp(presented.timestamp, now(), tolerance);
    const version = versions[presented.version];
    const signed = await version.read(request, presented, held);
    const malformed = malformedSignature(presented.version, presented.sign);
    if (malformed !== undefined) {
      throw explainMalformed(rejectedSignature(presented, request, signed), malformed);
    }
    const named = isClientId(presented.clientId)
      ? await clients.find(presented.clientId)
      : undefined;
    const algorithm = named && version.algorithmOf(named);
    const client = named?.enabled === true && algorithm !== undefined ? named : undefined;
    const ownKeys = client === undefined ? [] : clients.secureKeys(client);
    // A failure always costs two signatures, even for unknown clients.
    const candidates = [...ownKeys, ...decoyKeys].slice(0, decoyKeys.length);
    const secureKey = signed.findKey(candidates, client);
    if (client === undefined || secureKey === undefined || !ownKeys.includes(secureKey)) {
      throw await explain(rejectedSignature(presented, request, signed), named, algorithm);
    }
    signed.assertNotReplyEnvelope();
    // Precedes the replay guard: an attacker at another address must not use up the signature.
    assertAllowedAddress(client, request.clientAddress);
    signatures.assertOpen(client);
    const { path } = request.target;
    const use = await replayGuard.bind({
      clientId: client.clientId,
      signature: presented.sign,
      method: request.method,
      target: signed.query === '' ? path : `${path}?${signed.query}`,
      repeatable: signed.repeatable,
      addressGroup: addressGroup(request.clientAddress),
      nonce: signed.nonce,
      liveUntil: timestamp + tolerance,
    });
    if (use === 'replayed') {
      throw replayed(client);
    }
    await signatures.count(client);
    return {
      kind: 'signature',
      practice: presented.version === 2 ? 'HMAC-SHA-256' : algorithm,
      principal: await principalOf(client),
      signer: signed.createSigner(client, secureKey),
      // Known from opening the record. Computing it again would cost an HMAC.
      secureKeyId: clients.describeKeys(client)[ownKeys.indexOf(secureKey)]?.keyId,
      query: signed.query,
      body: signed.body,
    };
  }

  return async (
    request: AuthenticationRequest,
    presented: PresentedSignature,
  ): Promise<VerifiedRequest> => {
    const held = holdBody(request.clientAddress);
    try {
      return await verify(presented, request, held);
    } catch (error) {
      throw explained(error);
    } finally {
      held.release();
    }
  };
}

const replayed = ({ clientId }: Client) =>
  new ApiError('replayed_request', { headers: bearerChallenge(), clientId });

/** The request as the signer must have seen it. */
function rejectedSignature(
  { version, sign: signature, clientId, timestamp }: PresentedSignature,
  { message, method, target, credential, clientAddress }: AuthenticationRequest,
  { input, received: body }: SignedRequest,
): RejectedSignature {
  const { headers } = message;
  const nonce = headers['x-nonce'];
  return {
    request: {
      version,
      signature,
      method,
      path: target.sentPath,
      query: credential.query,
      contentType: headers['content-type'] ?? '',
      body,
      clientId,
      timestamp,
      nonce: typeof nonce === 'string' ? nonce : '',
    },
    input,
    clientAddress,
  };
}

function readTimestamp(text: string, now: number, toleranceMilliseconds: number): number {
  const timestamp = parseTimestamp(text);
  if (timestamp === undefined || !isTimely(timestamp, now, toleranceMilliseconds)) {
    throw explainedFailure('timestamp_out_of_range', {
      causes: [timestamp === undefined ? 'timestamp_malformed' : 'timestamp_out_of_range'],
      result: { serverTime: now },
      finding: timestamp === undefined ? undefined : clockDifference(timestamp - now),
    });
  }
  return timestamp;
}

function clockDifference(milliseconds: number): string {
  const seconds = Math.round(Math.abs(milliseconds) / 1000);
  return `X-Timestamp is ${seconds} s ${milliseconds < 0 ? 'behind' : 'ahead of'} this server.`;
}

function explained(error: unknown): unknown {
  return error instanceof AmbiguousTextError
    ? explainedFailure('ambiguous_request', { causes: [error.reason], message: error.message })
    : error;
}
