/** A setting of the client, never negotiated on the wire. */
export type SignatureAlgorithm = 'MD5' | 'SHA-256';

/**
 * The digest of the parts' bytes, one after the other, as lower-case hex; text counts as UTF-8.
 * Injected, so that a server uses its native one and a browser brings its own.
 */
export type Digest = (
  algorithm: SignatureAlgorithm,
  parts: readonly (string | Uint8Array)[],
) => string;

/** HMAC-SHA-256 (RFC 2104), as lower-case hex; key and text count as UTF-8. Injected, as the digest is. */
export type Hmac = (secureKey: string, text: string) => string;
