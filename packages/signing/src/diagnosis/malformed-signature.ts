export interface MalformedSignature {
  /** A name in `packages/errors`. */
  readonly reason: 'signature_base64' | 'signature_sha1' | 'signature_malformed';
  readonly message: string;
}

const HEX = /^[0-9a-f]+$/i;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** Lengths without padding: 16, 20 and 32 bytes, and the hexadecimal digits of 16 and 32 bytes. */
const BASE64_LENGTHS: ReadonlySet<number> = new Set([22, 27, 43, 86]);
const SHA1_DIGITS = 40;

/** Undefined if the signature has the form of a digest. Decides by the header alone. */
export function malformedSignature(
  version: 1 | 2,
  signature: string,
): MalformedSignature | undefined {
  const { length } = signature;
  const isHex = HEX.test(signature);
  if (isHex && (length === 64 || (version === 1 && length === 32))) {
    return undefined;
  }
  const expected =
    version === 1 ? 'X-Sign is not 32 or 64 hex digits' : 'X-Sign-V2 is not 64 hex digits';
  if (isHex) {
    const isSha1 = length === SHA1_DIGITS;
    return {
      reason: isSha1 ? 'signature_sha1' : 'signature_malformed',
      message: `${expected}; it has ${length} digits${isSha1 ? ', like SHA-1' : ''}.`,
    };
  }
  return BASE64.test(signature) && BASE64_LENGTHS.has(signature.replace(/=+$/, '').length)
    ? { reason: 'signature_base64', message: `${expected}; it looks like Base64.` }
    : { reason: 'signature_malformed', message: `${expected}; it has other characters.` };
}
