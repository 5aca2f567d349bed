/** The part of this package that a client needs. `packages/client` ships it to browsers. */
export { AmbiguousTextError } from './ambiguous-text-error.ts';
export { canonicalText, parseParameters } from './parameters.ts';
export { digestedParts, findSigningKey, type SignatureInput } from './signature.ts';
export type { SignatureAlgorithm } from './signature-algorithm.ts';
export { findLinesKey } from './signature-v2.ts';
export { replyLines, requestLines } from './signed-lines.ts';
export { signedPart } from './signed-part.ts';
export { isTimely, parseTimestamp } from './timestamp.ts';
