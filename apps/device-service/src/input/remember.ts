/** Keeps the results of a function without side effects, and forgets the oldest one. */
export function remember<Result>(
  capacity: number,
  compute: (text: string) => Result,
): (text: string) => Result {
  const known = new Map<string, Result>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) {
      return found;
    }
    const computed = compute(text);
    if (known.size >= capacity) {
      const [oldest = text] = known.keys();
      known.delete(oldest);
    }
    known.set(text, computed);
    return computed;
  };
}
