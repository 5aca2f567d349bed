/**
 * How Gatehouse reads a request before it verifies it: target, credentials, signed text. The
 * gateway and `gatehouse verify` share this code, so that both read the same request in the same
 * way.
 *
 *   request line → parseRequestTarget ─┐
 *   raw headers → presentedCredentials ┴→ coveredPart → signedQuery / signedBody (version 1)
 *
 * Not here: sockets, clients and keys, and the signatures (packages/request-signature).
 */
export { assertNotReplyEnvelope } from './assert-not-reply-envelope.ts';
export { isClientId } from './client-id.ts';
export { explainedFailure } from './explained-failure.ts';
export { explanationOf } from './explanation-of.ts';
export { nodeDigest, nodeHmac } from './node-digest.ts';
export {
  isPresent,
  type PresentedCredentials,
  type PresentedSignature,
  presentedCredentials,
} from './presented-credentials.ts';
export {
  type CredentialMistake,
  isBearer,
  type PresentedToken,
  readBearerToken,
  readQueryToken,
  readXAccessToken,
  unknownTokenMistake,
} from './presented-token.ts';
export { splitQueryToken } from './query-token.ts';
export { assertReadableQuery, parseRequestTarget, type RequestTarget } from './request-target.ts';
export {
  coveredPart,
  type SignedBody,
  type SignedText,
  signedBody,
  signedQuery,
} from './signed-text.ts';
export { type SimilarHeader, similarHeader } from './similar-header.ts';
