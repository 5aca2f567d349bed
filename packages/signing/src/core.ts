/** The part of this package that a client needs. `packages/client` ships it to browsers. */
export { type Envelope, isRecord, parseEnvelope, parseJson } from './envelope.ts';
export type { SignatureAlgorithm } from './signature.ts';
export { replyLines, requestLines } from './signed-lines.ts';
export {
  createVersion1Signer,
  createVersion2Signer,
  type Digests,
  type SignedReply,
  type Signer,
  version1Text,
} from './signer.ts';
export { AmbiguousTextError } from './version-1-text.ts';
export { createWebDigests } from './web-digests.ts';
