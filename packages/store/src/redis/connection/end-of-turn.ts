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
