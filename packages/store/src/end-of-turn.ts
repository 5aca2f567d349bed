let callbacks: (() => void)[] = [];

/**
 * Runs a callback at the end of the event-loop turn, after the callbacks that were added earlier. It
 * must not throw.
 */
export function atEndOfTurn(callback: () => void): void {
  if (callbacks.push(callback) === 1) {
    setImmediate(runAll);
  }
}

function runAll(): void {
  // Includes callbacks that a callback adds. A further immediate would run one turn later.
  for (const callback of callbacks) {
    callback();
  }
  callbacks = [];
}

/**
 * Collects what one event-loop turn adds, and runs it together. All of it succeeds, or all of it
 * fails.
 *
 * @param run returns one result for each item, in their order
 */
export function createTurnBatch<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
) {
  let items: Item[] = [];
  let results = Promise.withResolvers<readonly Result[]>();

  function flush(): void {
    if (items.length > 0) {
      results.resolve(run(items));
      items = [];
      results = Promise.withResolvers();
    }
  }

  return {
    add(item: Item): Promise<Result> {
      const index = items.push(item) - 1;
      if (index === 0) {
        atEndOfTurn(flush);
      }
      return results.promise.then((all) => all[index] as Result);
    },
    /** Runs the items of this turn now. */
    flush,
  };
}
