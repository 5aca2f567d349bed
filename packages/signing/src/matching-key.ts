/**
 * Finds the secure key that made a signature. Hexadecimal digits of either case match. The time
 * does not depend on the length or form of a wrong signature.
 *
 * @param signWith returns the signature with a key, in lower case
 */
export function findMatchingKey(
  signature: string,
  secureKeys: readonly string[],
  signWith: (secureKey: string) => string,
): string | undefined {
  const presented = normalizeSignature(signature);
  return secureKeys.find((secureKey) => equalHex(signWith(secureKey), presented));
}

/** Makes a replay with digits of another case the same signature. */
export function normalizeSignature(signature: string): string {
  return signature.toLowerCase();
}

/** The time depends only on the length of `expected`. Never throws. */
function equalHex(expected: string, presented: string): boolean {
  let difference = expected.length ^ presented.length;
  for (let index = 0; index < expected.length; index += 1) {
    // After the end of `presented`, charCodeAt returns NaN, which `^` treats as 0.
    difference |= expected.charCodeAt(index) ^ presented.charCodeAt(index);
  }
  return difference === 0;
}
