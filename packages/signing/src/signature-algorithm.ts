/** The client's setting. Requests cannot choose another algorithm. */
export type SignatureAlgorithm = 'MD5' | 'SHA-256';

/**
 * The digest of the concatenated parts in lower-case hexadecimal. Text is encoded as UTF-8. Servers
 * and browsers have different implementations.
 */
export type Digest = (
  algorithm: SignatureAlgorithm,
  parts: readonly (string | Uint8Array)[],
) => string;

/** HMAC-SHA-256 (RFC 2104) in lower-case hexadecimal. Key and text are encoded as UTF-8. */
export type Hmac = (secureKey: string, text: string) => string;
