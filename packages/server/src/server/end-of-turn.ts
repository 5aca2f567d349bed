let waiting: (() => void)[] = [];

/**
 * Runs a write after all events of this turn of the event loop. A write to a socket wakes its reader.
 * If the writes of a turn follow each other, the readers wake up less often and find more to do: the
 * whole path needs 10 to 15 % less processor time with 16 connections (bench/whole-path).
 */
export function atEndOfTurn(write: () => void): void {
  if (waiting.push(write) === 1) {
    setImmediate(writeAll);
  }
}

function writeAll(): void {
  const writes = waiting;
  waiting = [];
  for (const write of writes) {
    write();
  }
}
