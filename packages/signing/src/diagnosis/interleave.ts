/** Takes so many items of each list in turn, until all lists are empty. */
export function* interleave<Item>(
  ...lists: readonly (readonly [count: number, items: readonly Item[]])[]
): Generator<Item> {
  const positions = lists.map(() => 0);
  const longest = Math.max(...lists.map(([, items]) => items.length));
  for (let round = 0; round < longest; round += 1) {
    for (const [index, [count, items]] of lists.entries()) {
      const start = positions[index] ?? 0;
      yield* items.slice(start, start + count);
      positions[index] = start + count;
    }
  }
}
