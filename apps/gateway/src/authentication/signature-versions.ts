/**
 * How each version of the signature reads a request: the gateway forwards exactly what the signature
 * covers. signed-request.ts contains the steps that both versions share.
 */
import { illegalArgument } from '@gatehouse/errors';
import type { Client } from '@gatehouse/identity';
import { hasBody } from '@gatehouse/server';
import {
  assertNotReplyEnvelope,
  assertReadableQuery,
  coveredPart,
  findMatchingKey,
  isNonce,
  nodeDigest,
  nodeHmac,
  type PresentedSignature,
  replyLines,
  requestLines,
  type SignatureAlgorithm,
  type SignedBody,
  sign,
  signedBody,
  signedQuery,
} from '@gatehouse/signing';
import { assertAnnouncedSize } from '../messages.ts';
import type { SignedInput } from './explain-signature.ts';
import { type HeldBody, readSignedBody } from './held-bodies.ts';
import type { AuthenticationRequest, Signer } from './verified-request.ts';

/** The interpretation of a signed request. */
export interface SignedRequest {
  /** The query to forward, without its `?`. */
  readonly query: string;
  readonly body: SignedBody | undefined;
  /** What the signature must cover. */
  readonly input: SignedInput;
  /** The body as sent. Empty if absent. */
  readonly received: Uint8Array;
  /** Whether a client may send the request again unchanged. */
  readonly repeatable: boolean;
  /** Used once instead of the signature. */
  readonly nonce: string | undefined;
  /**
   * Returns the key that made the signature. A failure takes the same time for every client.
   *
   * @param client undefined if it is unknown or may not use this version
   */
  findKey(secureKeys: readonly string[], client: Client | undefined): string | undefined;
  /** @throws AmbiguousTextError if the signature may belong to a reply */
  assertNotReplyEnvelope(): void;
  createSigner(client: Client, secureKey: string): Signer;
}

export interface SignatureVersion {
  /**
   * The digest of the client. Undefined if its settings do not allow this version. No request can
   * change them.
   */
  algorithmOf(client: Client): SignatureAlgorithm | undefined;
  /** @throws AmbiguousTextError, ApiError */
  read(
    request: AuthenticationRequest,
    presented: PresentedSignature,
    held: HeldBody,
  ): Promise<SignedRequest>;
}

/**
 * Version 1, `X-Sign`: a digest over the query or the body, by the algorithm of the client.
 *
 * @param strict rejects MD5 and repeated signatures
 */
export function createVersion1(strict: boolean, decoyKeys: readonly string[]): SignatureVersion {
  return {
    algorithmOf({ signatureAlgorithm }) {
      const isAccepted =
        signatureAlgorithm === 'SHA-256' || (signatureAlgorithm === 'MD5' && !strict);
      return isAccepted ? signatureAlgorithm : undefined;
    },
    async read({ message, method, credential, bodyLimitBytes }, presented, held) {
      const { sign: signature, timestamp } = presented;
      const { query: sent } = credential;
      // It checks everything that it can before it reads a body.
      assertAnnouncedSize(message, bodyLimitBytes);
      const contentType = message.headers['content-type'];
      const part = coveredPart({ method, contentType, query: sent, hasBody: hasBody(message) });
      const { signedText, query, body, received } =
        part === 'query'
          ? signedQuery(sent)
          : signedBody(part, await readSignedBody(message, bodyLimitBytes, held));
      return {
        query,
        body,
        input: { signedAs: part, signed: signedText },
        received,
        repeatable: part === 'query' && !strict,
        nonce: undefined,
        findKey(secureKeys, client) {
          const algorithm = digestOf(client);
          const signWith = (used: SignatureAlgorithm) => (secureKey: string) =>
            sign({ algorithm: used, signedText, timestamp }, secureKey, nodeDigest);
          const secureKey = findMatchingKey(signature, secureKeys, signWith(algorithm));
          if (secureKey === undefined) {
            // A failure computes both digests, so that its time does not reveal the client's
            // algorithm.
            findMatchingKey('', decoyKeys, signWith(algorithm === 'MD5' ? 'SHA-256' : 'MD5'));
          }
          return secureKey;
        },
        assertNotReplyEnvelope: () => assertNotReplyEnvelope(signedText),
        createSigner: (client, secureKey) => ({
          clientId: client.clientId,
          header: 'X-Sign',
          sign({ body: replied, timestamp: repliedAt }) {
            // An attacker could send it back as a request that signs an empty text (CWE-301).
            if (replied.length === 0) {
              return undefined;
            }
            const algorithm = digestOf(client);
            const input = { algorithm, signedText: replied, timestamp: repliedAt };
            return sign(input, secureKey, nodeDigest);
          },
        }),
      };
    },
  };
}

/**
 * Version 2, `X-Sign-V2`: an HMAC over every part of the request that the upstream interprets.
 * Every client may use it, regardless of its algorithm in version 1.
 */
export const version2: SignatureVersion = {
  algorithmOf: () => 'SHA-256',
  async read(
    { message, method, target, bodyLimitBytes },
    { clientId, timestamp, nonce = '', sign: signature },
    held,
  ) {
    if (!isNonce(nonce)) {
      const rule = 'must be 16 to 64 characters from A-Z, a-z, 0-9, _ and -';
      throw illegalArgument([{ property: 'X-Nonce', message: rule }], 'nonce_malformed');
    }
    assertReadableQuery(target.query);
    const bytes = await readSignedBody(message, bodyLimitBytes, held);
    const lines = requestLines(
      {
        method,
        path: target.sentPath,
        query: target.query,
        contentType: message.headers['content-type'] ?? '',
        body: bytes,
        clientId,
        timestamp,
        nonce,
      },
      nodeDigest,
    );
    return {
      query: target.query,
      body: hasBody(message) ? { bytes, contentType: undefined } : undefined,
      input: { signedAs: 'lines', signed: lines },
      received: bytes,
      repeatable: false,
      nonce,
      findKey: (secureKeys) =>
        findMatchingKey(signature, secureKeys, (secureKey) => nodeHmac(secureKey, lines)),
      // The first signed line distinguishes replies from requests.
      assertNotReplyEnvelope: () => undefined,
      createSigner: (client, secureKey) => ({
        clientId: client.clientId,
        header: 'X-Sign-V2',
        sign: (reply) => nodeHmac(secureKey, replyLines({ ...reply, nonce }, nodeDigest)),
      }),
    };
  },
};

function digestOf(client: Client | undefined): SignatureAlgorithm {
  return client?.signatureAlgorithm === 'MD5' ? 'MD5' : 'SHA-256';
}
