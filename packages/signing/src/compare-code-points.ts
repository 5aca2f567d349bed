/**
 * Orders text by its UTF-8 bytes, which is the order of its code points. JavaScript compares UTF-16
 * units instead, and puts U+1F600 (surrogates, D83D…) before U+FFFD.
 */
export function compareCodePoints(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const difference = rank(left.charCodeAt(index)) - rank(right.charCodeAt(index));
    if (difference !== 0) {
      return difference;
    }
  }
  return left.length - right.length;
}

/** Moves surrogates (D800–DFFF) above the rest of the basic plane (E000–FFFF). */
function rank(unit: number): number {
  if (unit < 0xd800) {
    return unit;
  }
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
