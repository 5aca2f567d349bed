/** Batches have long texts, and a statement keeps the values that were bound last. */
const MAXIMUM_TEXT_LENGTH = 4096;

/**
 * Prepares a text once, and forgets the text that was used least recently. SQLite itself prepares a
 * statement again after a change of the schema.
 */
export function cacheStatements<Statement>(
  prepare: (text: string) => Statement,
  capacity: number,
): (text: string) => Statement {
  const known = new Map<string, Statement>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) {
      known.delete(text);
      known.set(text, found);
      return found;
    }
    const statement = prepare(text);
    if (text.length <= MAXIMUM_TEXT_LENGTH) {
      known.set(text, statement);
      if (known.size > capacity) {
        const [oldest = text] = known.keys();
        known.delete(oldest);
      }
    }
    return statement;
  };
}
