import { ApiError } from '@gatehouse/api-envelope';
import { addressGroup } from '@gatehouse/http-server';
import {
  type Client,
  type ClientRegistry,
  clientPrincipal,
  generateSecureKey,
  MAXIMUM_ACTIVE_KEYS,
  type ReplayGuard,
} from '@gatehouse/identity';
import { isClientId, type PresentedSignature } from '@gatehouse/request-reading';
import {
  AmbiguousTextError,
  isTimely,
  parseTimestamp,
  timestampMistake,
} from '@gatehouse/request-signature';
import { assertAllowedAddress } from './allowed-address.ts';
import type { AuthenticationRequest, Authenticator, VerifiedRequest } from './authenticator.ts';
import { bearerChallenge } from './challenge.ts';
import type { HeldBody } from './held-bodies.ts';
import type { SignatureScheme } from './signature-scheme.ts';
import { createSignatureVersion1 } from './signature-version-1.ts';
import { signatureVersion2 } from './signature-version-2.ts';

export interface SignedRequestDependencies {
  readonly clients: ClientRegistry;
  readonly replayGuard: ReplayGuard;
  /** Accounts for the memory of one request's body, by the address of its caller. */
  readonly holdBody: (address: string) => HeldBody;
  readonly now: () => number;
  readonly toleranceMilliseconds: number;
  /** Rejects MD5 and repeated signatures. */
  readonly strict: boolean;
}

/**
 * Method A, in both versions: headers → timestamp → signed text → client → signature → address →
 * first use. If a step fails, the reply is not signed.
 */
export function createSignedRequestAuthenticator(
  dependencies: SignedRequestDependencies,
): Authenticator {
  const { clients, replayGuard, holdBody, now, toleranceMilliseconds, strict } = dependencies;
  // Stand in for missing keys, so that a failure always costs two signatures, even for unknown
  // clients.
  const decoyKeys = [generateSecureKey(), generateSecureKey()];
  const schemes = {
    1: createSignatureVersion1({ strict, decoyKeys }),
    2: signatureVersion2,
  } as const;

  async function findClient(
    clientId: string,
    scheme: SignatureScheme,
  ): Promise<Client | undefined> {
    const client = isClientId(clientId) ? await clients.find(clientId) : undefined;
    return client?.enabled === true && scheme.accepts(client) ? client : undefined;
  }

  async function verify(
    presented: PresentedSignature,
    request: AuthenticationRequest,
    held: HeldBody,
  ): Promise<VerifiedRequest> {
    const timestamp = readTimestamp(presented.timestamp, now(), toleranceMilliseconds);
    const scheme = schemes[presented.version];
    const signed = await readUnambiguously(() => scheme.read(request, presented, held));
    const client = await findClient(presented.clientId, scheme);
    const ownKeys = client === undefined ? [] : clients.secureKeys(client);
    const candidates = [...ownKeys, ...decoyKeys].slice(0, MAXIMUM_ACTIVE_KEYS);
    const secureKey = signed.findKey(candidates, client);
    if (client === undefined || secureKey === undefined || !ownKeys.includes(secureKey)) {
      throw new ApiError('invalid_signature', { headers: bearerChallenge() });
    }
    await readUnambiguously(signed.assertNotReplyEnvelope);
    // Precedes the replay guard: an attacker at another address must not use up the signature.
    assertAllowedAddress(client, request.clientAddress);
    const use = await replayGuard.bind({
      clientId: client.clientId,
      signature: presented.sign,
      method: request.message.method ?? '',
      target: signed.query === '' ? request.target.path : `${request.target.path}?${signed.query}`,
      repeatable: signed.repeatable,
      addressGroup: addressGroup(request.clientAddress),
      nonce: signed.nonce,
      liveUntil: timestamp + toleranceMilliseconds,
    });
    if (use === 'replayed') {
      throw new ApiError('replayed_request', { headers: bearerChallenge() });
    }
    return {
      kind: 'signature',
      principal: clientPrincipal(client),
      signer: signed.createSigner(client, secureKey),
      secureKeyId: clients.secureKeyId(secureKey),
      token: undefined,
      query: signed.query,
      body: signed.body,
    };
  }

  return {
    authenticate(request) {
      const { signature } = request.credentials;
      if (signature === undefined) {
        return undefined;
      }
      const held = holdBody(request.clientAddress);
      return verify(signature, request, held).finally(() => held.release());
    },
  };
}

function readTimestamp(text: string, now: number, toleranceMilliseconds: number): number {
  const timestamp = parseTimestamp(text);
  if (timestamp === undefined || !isTimely(timestamp, now, toleranceMilliseconds)) {
    throw new ApiError('timestamp_out_of_range', {
      result: { serverTime: now },
      headers: bearerChallenge(),
      reason: timestampMistake(text) ?? 'clock_difference',
    });
  }
  return timestamp;
}

async function readUnambiguously<Result>(read: () => Promise<Result> | Result): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof AmbiguousTextError) {
      const { message, reason } = error;
      throw new ApiError('ambiguous_request', { message, reason });
    }
    throw error;
  }
}
