/**
 * Checks a captured request as the gateway does, without its store.
 *
 *   readCapture → parseRequestTarget → presentedCredentials → timestamp → signed text → key
 *     → diagnoseSignature, for the mistake in a wrong signature
 *
 * Not here: whether the client exists, its address, and whether the signature was used before.
 */

import type { FailureReasonName } from '@gatehouse/errors';
import { ApiError } from '@gatehouse/errors';
import {
  AmbiguousTextError,
  diagnoseSignature,
  type FailedRequest,
  malformedSignature,
  nodeDigest,
  nodeHmac,
  type PresentedCredentials,
  type PresentedSignature,
  parseRequestTarget,
  parseTimestamp,
  presentedCredentials,
  type RequestTarget,
  readBearerToken,
  readQueryToken,
  readXAccessToken,
  type SignatureAlgorithm,
  similarHeader,
  unknownTokenMistake,
} from '@gatehouse/signing';
import { type CapturedMessage, headerOf } from './captured-message.ts';
import { readSigned, type SignedReading } from './read-signed.ts';
import type { Verdict } from './verdict.ts';

export interface CheckingKey {
  readonly secureKey: string;
  /** The digest of version 1. Undefined: the client may use only version 2. */
  readonly algorithm: SignatureAlgorithm | undefined;
}

export function verifyRequest(captured: CapturedMessage, key: CheckingKey): Verdict {
  const [method = '', sentTarget = ''] = captured.startLine.split(' ');
  const base = { notes: captured.notes, version: undefined };
  try {
    const target = parseRequestTarget(withoutOrigin(sentTarget));
    const credentials = presentedCredentials(captured.rawHeaders, target.query);
    const { signature } = credentials;
    if (signature === undefined) {
      return unsigned(credentials, captured);
    }
    return verifySignature({ method, target, signature, captured }, key);
  } catch (error) {
    if (error instanceof ApiError) {
      const { code, message, reason } = error;
      return { ...base, isVerified: false, code, causes: named(reason), message };
    }
    throw error;
  }
}

interface SignedCapture {
  readonly method: string;
  readonly target: RequestTarget;
  readonly signature: PresentedSignature;
  readonly captured: CapturedMessage;
}

function verifySignature(request: SignedCapture, key: CheckingKey): Verdict {
  const { version, timestamp, sign } = request.signature;
  const base = { version, timestamp, notes: request.captured.notes, isVerified: false } as const;
  if (parseTimestamp(timestamp) === undefined) {
    return { ...base, code: 'timestamp_out_of_range', causes: ['timestamp_malformed'] };
  }
  let signed: SignedReading;
  try {
    signed = readSigned(request, key.algorithm);
    if (signed.hasKey(key.secureKey)) {
      signed.assertNotReply();
      const isAllowed = version === 2 || key.algorithm !== undefined;
      return isAllowed
        ? { ...base, isVerified: true, causes: [], signed: signed.input }
        : { ...base, code: 'invalid_signature', causes: ['version_1_not_allowed'] };
    }
  } catch (error) {
    if (error instanceof AmbiguousTextError) {
      const { message, reason } = error;
      return { ...base, code: 'ambiguous_request', causes: [reason], message };
    }
    throw error;
  }
  const wrong = { ...base, code: 'invalid_signature', signed: signed.input };
  const malformed = malformedSignature(version, sign);
  if (malformed !== undefined) {
    return { ...wrong, causes: ['signature_malformed'], message: malformed };
  }
  // The gateway spends the same work on more keys, so it may name no mistake where this does.
  const keys = { active: [key.secureKey], algorithm: key.algorithm };
  const digests = { digest: nodeDigest, hmac: nodeHmac };
  const mistakes = diagnoseSignature(failedRequest(request), keys, digests) ?? [];
  const causes = mistakes.length > 0 ? mistakes : (['invalid_signature'] as const);
  return { ...wrong, causes, message: detailOf(causes, sign, key) };
}

/** What only this command can tell, because it knows the key and the digest. */
function detailOf(
  causes: readonly FailureReasonName[],
  sign: string,
  { algorithm }: CheckingKey,
): string | undefined {
  if (causes.includes('invalid_signature')) {
    return 'This secure key did not make the signature.';
  }
  if (causes.includes('wrong_digest')) {
    const used = sign.length === 32 ? 'MD5' : 'SHA-256';
    return `The signature is correct with ${used}, but this check expects ${algorithm}. If the client is registered with ${used}, add --algorithm ${used}.`;
  }
  return undefined;
}

function failedRequest({ method, target, signature, captured }: SignedCapture): FailedRequest {
  const { version, sign, clientId, timestamp } = signature;
  return {
    version,
    signature: sign,
    method,
    path: target.sentPath,
    query: target.query,
    contentType: headerOf(captured.rawHeaders, 'content-type') ?? '',
    body: captured.body,
    clientId,
    timestamp,
    nonce: headerOf(captured.rawHeaders, 'x-nonce') ?? '',
  };
}

/** A token can only be looked up by the gateway, but its form can be checked. */
function unsigned(
  { authorization, accessToken, queryToken }: PresentedCredentials,
  { rawHeaders, notes }: CapturedMessage,
): Verdict {
  const base = { isVerified: false, version: undefined, notes } as const;
  const read =
    (authorization === undefined ? undefined : readBearerToken(authorization)) ??
    (accessToken === undefined ? undefined : readXAccessToken(accessToken)) ??
    (queryToken === undefined ? undefined : readQueryToken(queryToken));
  if (read === undefined) {
    const similar = similarHeader(rawHeaders);
    const cause = similar === undefined ? 'unauthorized' : 'credential_header_misnamed';
    return { ...base, code: 'unauthorized', causes: [cause] };
  }
  const mistake = 'mistake' in read ? read.mistake : unknownTokenMistake(read.token);
  return mistake === undefined
    ? {
        ...base,
        causes: [],
        message: 'The request has a token, not a signature. Only the gateway can check a token.',
      }
    : { ...base, code: 'unauthorized', causes: [mistake.reason], message: mistake.found };
}

/** A request to a proxy names the host, which no signature covers. */
function withoutOrigin(target: string): string {
  return target.replace(/^https?:\/\/[^/?]+/i, '') || '/';
}

function named(reason: FailureReasonName | undefined): readonly FailureReasonName[] {
  return reason === undefined ? [] : [reason];
}
