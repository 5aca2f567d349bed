/** The part of this package that a client needs. `packages/client` ships it to browsers. */
export { AmbiguousTextError } from './ambiguous-text-error.ts';
export { type Envelope, isRecord, parseEnvelope, parseJson } from './envelope.ts';
export type { SignatureAlgorithm } from './signature-algorithm.ts';
export { replyLines, requestLines } from './signed-lines.ts';
export { signedPart } from './signed-part.ts';
export {
  createVersion1Signer,
  createVersion2Signer,
  type Digests,
  type SignedReply,
  type Signer,
  version1Text,
} from './signer.ts';
export { createWebDigests } from './web-digests.ts';
