const MINIMUM_DISTINCT_CHARACTERS = 6;
const placeholders = /change.?me|secret|password|passwort|example|default|placeholder|gatehouse/i;

/** Whether a person probably wrote this secret: zeros, patterns or placeholders. */
export function looksMadeUp(secret: string): boolean {
  return (
    new Set(secret).size < MINIMUM_DISTINCT_CHARACTERS ||
    placeholders.test(secret) ||
    repeats(secret) ||
    counts(secret)
  );
}

/** Whether characters or bytes have equal differences, as in `0123`, `abcd` or `00 01 02`. */
function counts(text: string): boolean {
  const codes = [...text].map((character) => character.charCodeAt(0));
  const bytes = /^([0-9a-f]{2})+$/i.test(text) ? [...Buffer.from(text, 'hex')] : [];
  return [codes, bytes].some((values) => {
    const steps = values.slice(1).map((value, i) => value - (values[i] ?? 0));
    const repeated = steps.filter((step, i) => step === steps[i - 1]).length;
    return steps.length > 4 && repeated > steps.length / 2;
  });
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
export function shareOfEqualSteps(values: readonly number[]): number {
  const steps = values.slice(1).map((value, i) => value - (values[i] ?? 0));
  const equal = steps.filter((step, i) => step === steps[i - 1]).length;
  return steps.length < 2 ? 0 : equal / (steps.length - 1);
}

export function characterCodes(text: string): readonly number[] {
  return [...text].map((character) => character.codePointAt(0) ?? 0);
}
