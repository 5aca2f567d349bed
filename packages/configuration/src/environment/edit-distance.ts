/**
 * How many mistakes of typing lie between two texts: a letter too many, too few, another, or two neighbours swapped
 * (optimal string alignment, the restricted form of the Damerau-Levenshtein distance).
 *
 * @param most beyond this many nobody wants to know how many: then the answer is any number greater than it
 */
export function editDistance(
  a: string,
  b: string,
  most: number = Number.POSITIVE_INFINITY,
): number {
  const { abs, min } = Math;
  if (abs(a.length - b.length) > most) {
    return most + 1;
  }
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_value, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      let distance = min(
        (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        distance = min(distance, (beforeLast[j - 2] ?? 0) + 1);
      }
      row[j] = distance;
      least = min(least, distance);
    }
    // No row that follows has less.
    if (least > most) {
      return most + 1;
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
