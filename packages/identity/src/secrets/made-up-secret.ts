const MINIMUM_DISTINCT_CHARACTERS = 6;
const placeholders = /change.?me|secret|password|passwort|example|default|placeholder|gatehouse/i;

/** Whether a person or an example wrote this, and not a random generator: zeros, patterns, placeholders. */
export function looksMadeUp(secret: string): boolean {
  return (
    new Set(secret).size < MINIMUM_DISTINCT_CHARACTERS ||
    placeholders.test(secret) ||
    repeats(secret) ||
    counts(secret)
  );
}

/** `abcabc…`: the text is found in two of itself before its end. */
function repeats(text: string): boolean {
  return `${text}${text}`.indexOf(text, 1) < text.length;
}

/** `0123…`, `abcd…`, or bytes `00 01 02 …`: the same step again and again. */
function counts(text: string): boolean {
  const codes = [...text].map((character) => character.charCodeAt(0));
  const bytes = /^([0-9a-f]{2})+$/i.test(text) ? [...Buffer.from(text, 'hex')] : [];
  return [codes, bytes].some((values) => {
    const steps = values.slice(1).map((value, i) => value - (values[i] ?? 0));
    const repeated = steps.filter((step, i) => step === steps[i - 1]).length;
    return steps.length > 4 && repeated > steps.length / 2;
  });
}
