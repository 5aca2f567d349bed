/**
 * Signs a request in both versions, as an explanation for developers.
 *
 *   sign command → read-url → sign-request → describe-signing (text), curl-command
 *
 * It reads the request with the code of the gateway (packages/signing), so what it signs is
 * what the gateway verifies.
 */
import { ApiError } from '@gatehouse/errors';
import {
  AmbiguousTextError,
  assertNotReplyEnvelope,
  assertReadableQuery,
  coveredPart,
  nodeDigest,
  nodeHmac,
  type RequestTarget,
  requestLines,
  type SignatureAlgorithm,
  type SignedPart,
  sign,
  signedBody,
  signedQuery,
  signLines,
} from '@gatehouse/signing';

export interface RequestInput {
  readonly method: string;
  readonly target: RequestTarget;
  /** Empty: the request has no Content-Type. */
  readonly contentType: string;
  /** Undefined: the request has no body. */
  readonly body: Buffer | undefined;
  readonly clientId: string;
  readonly timestamp: string;
  readonly nonce: string;
  /** The digest of version 1. */
  readonly algorithm: SignatureAlgorithm;
}

export type Header = readonly [name: string, value: string];

/** The version cannot sign this request. */
export interface NotSigned {
  readonly problem: string;
}

export interface Version1Signature {
  readonly algorithm: SignatureAlgorithm;
  readonly signedAs: SignedPart;
  readonly signedText: string;
  readonly headers: readonly Header[];
}

export interface Version2Signature {
  readonly lines: readonly string[];
  readonly headers: readonly Header[];
}

export interface SignedVersions {
  readonly version1: Version1Signature | NotSigned;
  readonly version2: Version2Signature | NotSigned;
}

export function signRequest(request: RequestInput, secureKey: string): SignedVersions {
  return {
    version1: unlessRejected(() => signVersion1(request, secureKey)),
    version2: unlessRejected(() => signVersion2(request, secureKey)),
  };
}

function signVersion1(request: RequestInput, secureKey: string): Version1Signature {
  const { method, target, contentType, body, clientId, timestamp, algorithm } = request;
  const { query } = target;
  const hasBody = body !== undefined && body.length > 0;
  const part = coveredPart({ method, contentType, query, hasBody });
  const { signedText } =
    part === 'query' ? signedQuery(query) : signedBody(part, body ?? Buffer.alloc(0));
  assertNotReplyEnvelope(signedText);
  const signature = sign({ algorithm, signedText, timestamp }, secureKey, nodeDigest);
  return {
    algorithm,
    signedAs: part,
    signedText: typeof signedText === 'string' ? signedText : Buffer.from(signedText).toString(),
    headers: [
      ['X-Client-Id', clientId],
      ['X-Timestamp', timestamp],
      ['X-Sign', signature],
      ...contentTypeHeader(request),
    ],
  };
}

function signVersion2(request: RequestInput, secureKey: string): Version2Signature {
  const { method, target, contentType, clientId, timestamp, nonce } = request;
  assertReadableQuery(target.query);
  const lines = requestLines(
    {
      method,
      path: target.sentPath,
      query: target.query,
      contentType,
      body: request.body ?? '',
      clientId,
      timestamp,
      nonce,
    },
    nodeDigest,
  );
  return {
    lines: lines.split('\n'),
    headers: [
      ['X-Client-Id', clientId],
      ['X-Timestamp', timestamp],
      ['X-Nonce', nonce],
      ['X-Sign-V2', signLines(lines, secureKey, nodeHmac)],
      ...contentTypeHeader(request),
    ],
  };
}

/** An empty header removes the type of a form, which curl would add to a body. */
function contentTypeHeader({ contentType, body }: RequestInput): readonly Header[] {
  return contentType === '' && body === undefined ? [] : [['Content-Type', contentType]];
}

function unlessRejected<Signature>(make: () => Signature): Signature | NotSigned {
  try {
    return make();
  } catch (error) {
    if (error instanceof AmbiguousTextError || error instanceof ApiError) {
      return { problem: error.message };
    }
    throw error;
  }
}
