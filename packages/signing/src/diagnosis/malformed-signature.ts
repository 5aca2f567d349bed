const HEX = /^[0-9a-f]+$/i;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** Lengths without padding: 16, 20 and 32 bytes, and the hexadecimal digits of 16 and 32 bytes. */
const BASE64_LENGTHS: ReadonlySet<number> = new Set([22, 27, 43, 86]);
const SHA1_DIGITS = 40;

/**
 * Why a signature does not have the form of a digest, for the signer. Undefined if it has. Decides
 * by the header alone.
 */
export function malformedSignature(version: 1 | 2, signature: string): string | undefined {
  const { length } = signature;
  const isHex = HEX.test(signature);
  if (isHex && (length === 64 || (version === 1 && length === 32))) {
    return undefined;
  }
  const expected =
    version === 1 ? 'X-Sign is not 32 or 64 hex digits' : 'X-Sign-V2 is not 64 hex digits';
  if (isHex) {
    return `${expected}; it has ${length} digits${length === SHA1_DIGITS ? ', like SHA-1' : ''}.`;
  }
  const isBase64 =
    BASE64.test(signature) && BASE64_LENGTHS.has(signature.replace(/=+$/, '').length);
  return `${expected}; it ${isBase64 ? 'looks like Base64' : 'has other characters'}.`;
}
