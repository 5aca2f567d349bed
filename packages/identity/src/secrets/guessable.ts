const MINIMUM_DISTINCT_CHARACTERS = 6;
const placeholders = /change.?me|secret|password|passwort|example|default|placeholder|gatehouse/i;

/** Whether a person probably wrote this secret: zeros, patterns or placeholders. */
export function looksMadeUp(secret: string): boolean {
  const bytes = /^([0-9a-f]{2})+$/i.test(secret)
    ? Buffer.from(secret, 'hex').toString('latin1')
    : '';
  return (
    new Set(secret).size < MINIMUM_DISTINCT_CHARACTERS ||
    placeholders.test(secret) ||
    repeats(secret) ||
    [secret, bytes].some((text) => shareOfEqualSteps(text) > 0.6)
  );
}

/**
 * Whether the text repeats a part, as `abcabc` does. It then occurs in its double before the end.
 */
export function repeats(text: string): boolean {
  return `${text}${text}`.indexOf(text, 1) < text.length;
}

/**
 * The share of differences between neighbors that equal the previous one: 1 for `0123` and `abcd`.
 */
export function shareOfEqualSteps(text: string): number {
  const codes = [...text].map((character) => character.codePointAt(0) ?? 0);
  const steps = codes.slice(1).map((code, i) => code - (codes[i] ?? 0));
  const equal = steps.filter((step, i) => step === steps[i - 1]).length;
  return steps.length < 2 ? 0 : equal / (steps.length - 1);
}
