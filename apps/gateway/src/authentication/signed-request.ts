import { ApiError } from '@gatehouse/api-envelope';
import {
  type Client,
  type ClientRegistry,
  clientPrincipal,
  generateSecureKey,
  type ReplayGuard,
} from '@gatehouse/identity';
import {
  AmbiguousText,
  findSigningKey,
  isTimely,
  parseTimestamp,
  type SignatureAlgorithm,
  type SignatureInput,
} from '@gatehouse/request-signature';
import { assertAllowedAddress } from './allowed-address.ts';
import type { AuthenticationRequest, Authenticator, Caller } from './authenticator.ts';
import { bearerChallenge } from './challenge.ts';
import { isClientId } from './client-id.ts';
import { nodeDigest } from './node-digest.ts';
import type { PresentedCredentials } from './presented-credentials.ts';
import { readSignedText, type SignedText } from './signed-text.ts';

type PresentedSignature = NonNullable<PresentedCredentials['signature']>;

const MAXIMUM_ACTIVE_KEYS = 2;

export interface SignedRequestDependencies {
  readonly clients: ClientRegistry;
  readonly replayGuard: ReplayGuard;
  readonly now: () => number;
  readonly toleranceMilliseconds: number;
  /** No MD5, and no signature twice. */
  readonly strict: boolean;
}

/**
 * Method A. Headers → timestamp → signed text → client → digest → address → first use. The reply to whoever
 * fails any of it is not signed.
 */
export function createSignedRequestAuthenticator(
  dependencies: SignedRequestDependencies,
): Authenticator {
  const { clients, replayGuard, now, toleranceMilliseconds, strict } = dependencies;
  // Tried where a key is missing, so that every refusal costs two digests, known client or not.
  const decoyKeys = [generateSecureKey(), generateSecureKey()];

  async function findClient(clientId: string): Promise<Client | undefined> {
    const client = isClientId(clientId) ? await clients.find(clientId) : undefined;
    const usable = client?.enabled === true && !(strict && client.signatureAlgorithm === 'MD5');
    return usable ? client : undefined;
  }

  async function verify(
    presented: PresentedSignature,
    request: AuthenticationRequest,
  ): Promise<Caller> {
    const timestamp = readTimestamp(presented.timestamp, now(), toleranceMilliseconds);
    const text = await readUnambiguously(request);
    const client = await findClient(presented.clientId);
    const input: SignatureInput = {
      algorithm: client?.signatureAlgorithm ?? 'SHA-256',
      signedText: text.signedText,
      timestamp: presented.timestamp,
    };
    const ownKeys = client === undefined ? [] : clients.secureKeys(client);
    const candidates = [...ownKeys, ...decoyKeys].slice(0, MAXIMUM_ACTIVE_KEYS);
    const secureKey = findSigningKey(input, presented.sign, candidates, nodeDigest);
    if (client === undefined || secureKey === undefined || !ownKeys.includes(secureKey)) {
      // A refusal costs both digests, so that its time does not tell which one the client has, if any.
      findSigningKey(
        { ...input, algorithm: otherThan(input.algorithm) },
        '',
        decoyKeys,
        nodeDigest,
      );
      throw new ApiError('invalid_signature', { headers: bearerChallenge() });
    }
    // Before the first use is bound: who replays from elsewhere must not use the signature up.
    assertAllowedAddress(client, request.clientAddress);
    const use = await replayGuard.bind({
      clientId: client.clientId,
      signature: presented.sign,
      method: request.message.method ?? '',
      target: text.query === '' ? request.target.path : `${request.target.path}?${text.query}`,
      repeatable: text.part === 'query' && !strict,
      liveUntil: timestamp + toleranceMilliseconds,
    });
    if (use === 'replayed') {
      throw new ApiError('replayed_request', { headers: bearerChallenge() });
    }
    return {
      kind: 'signature',
      principal: clientPrincipal(client),
      signer: {
        clientId: client.clientId,
        algorithm: client.signatureAlgorithm,
        secureKey,
      },
      token: undefined,
      query: text.query,
      body: text.body,
    };
  }

  return {
    authenticate(request) {
      const { signature } = request.credentials;
      return signature === undefined ? undefined : verify(signature, request);
    },
  };
}

function readTimestamp(text: string, now: number, toleranceMilliseconds: number): number {
  const timestamp = parseTimestamp(text);
  if (timestamp === undefined || !isTimely(timestamp, now, toleranceMilliseconds)) {
    throw new ApiError('timestamp_out_of_range', {
      result: { serverTime: now },
      headers: bearerChallenge(),
    });
  }
  return timestamp;
}

async function readUnambiguously(request: AuthenticationRequest): Promise<SignedText> {
  try {
    return await readSignedText(request);
  } catch (error) {
    if (error instanceof AmbiguousText) {
      throw new ApiError('ambiguous_request', { message: error.message });
    }
    throw error;
  }
}

function otherThan(algorithm: SignatureAlgorithm): SignatureAlgorithm {
  return algorithm === 'MD5' ? 'SHA-256' : 'MD5';
}
