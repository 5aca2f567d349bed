import { GatehouseError } from './gatehouse-error.ts';

const DEFAULT_DEADLINE_MILLISECONDS = 30_000;

/** The time limit of a call, and the caller's own signal. */
export interface Deadline {
  readonly signal: AbortSignal;
  remainingMilliseconds(): number;
  /** After this, only the caller's own signal ends the call. */
  clear(): void;
}

export function startDeadline(
  milliseconds: number = DEFAULT_DEADLINE_MILLISECONDS,
  callerSignal?: AbortSignal | null,
): Deadline {
  const endsAt = performance.now() + milliseconds;
  const controller = new AbortController();
  const timer = setTimeout(
    () =>
      controller.abort(new GatehouseError('deadline_exceeded', `No reply in ${milliseconds} ms.`)),
    milliseconds,
  );
  const { signal } = controller;
  return {
    signal: callerSignal ? AbortSignal.any([signal, callerSignal]) : signal,
    remainingMilliseconds: () => endsAt - performance.now(),
    clear: () => clearTimeout(timer),
  };
}

/** Rejects as soon as the signal aborts. The promise itself continues. */
export function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) {
      abort();
    }
    signal.addEventListener('abort', abort, { once: true });
    promise.finally(() => signal.removeEventListener('abort', abort)).then(resolve, reject);
  });
}

export async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await untilAborted(elapsed, signal).finally(() => clearTimeout(timer));
}
