const HEX = /^[0-9a-f]+$/;

/**
 * Finds the secure key that made a signature. Hex in any case is accepted; anything else matches nothing
 * and costs the same work, so that neither the length nor the form of a guess shows in the time it takes.
 *
 * @param signWith lower-case hex of what each of the keys would have made
 * @returns the key, or undefined when none of them made it
 */
export function findMatchingKey(
  signature: string,
  secureKeys: readonly string[],
  signWith: (secureKey: string) => string,
): string | undefined {
  const presented = normalizeSignature(signature);
  return secureKeys.find((secureKey) => equalHex(signWith(secureKey), presented));
}

/** Lower case: a replay in another case is the same signature. */
export function normalizeSignature(signature: string): string {
  return signature.toLowerCase();
}

/** Constant in time for the length of `expected`, whatever `presented` is; never throws. */
function equalHex(expected: string, presented: string): boolean {
  let difference = expected.length ^ presented.length;
  for (let index = 0; index < expected.length; index += 1) {
    // Past the end of `presented` charCodeAt is NaN, which counts as 0.
    difference |= expected.charCodeAt(index) ^ presented.charCodeAt(index);
  }
  return difference === 0 && HEX.test(presented);
}
