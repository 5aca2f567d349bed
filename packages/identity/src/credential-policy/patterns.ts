/**
 * Whether the text repeats a part, as `abcabc` does. It then occurs in its double before the end.
 */
export function repeats(text: string): boolean {
  return `${text}${text}`.indexOf(text, 1) < text.length;
}

/**
 * The share of differences between neighbors that equal the previous one: 1 for `0123` and `abcd`.
 */
export function shareOfEqualSteps(values: readonly number[]): number {
  const steps = values.slice(1).map((value, i) => value - (values[i] ?? 0));
  const equal = steps.filter((step, i) => step === steps[i - 1]).length;
  return steps.length < 2 ? 0 : equal / (steps.length - 1);
}

export function characterCodes(text: string): readonly number[] {
  return [...text].map((character) => character.codePointAt(0) ?? 0);
}
