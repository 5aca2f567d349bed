/**
 * The calls whose caller does not read the reply. Each holds a connection to the service: a few
 * hundred of them, with one valid credential, would block all other callers (slow read, CWE-400).
 * While requests wait for a connection, the calls that have been held longest are canceled.
 */
export interface UnreadReplies<Call> {
  hold(call: Call): void;
  /** Does nothing for a call that is not held. */
  release(call: Call): void;
}

/** Longer than the pause between two packets of an honest caller's network. */
const MINIMUM_HELD_MILLISECONDS = 250;
const CHECK_MILLISECONDS = 100;

export function createUnreadReplies<Call>(dependencies: {
  /** How many requests wait for a connection. */
  readonly waiting: () => number;
  readonly cancel: (call: Call) => void;
}): UnreadReplies<Call> {
  // In order of insertion, so the oldest comes first.
  const held = new Map<Call, number>();
  let timer: NodeJS.Timeout | undefined;

  function makeRoom(): void {
    const heldBefore = performance.now() - MINIMUM_HELD_MILLISECONDS;
    let wanted = dependencies.waiting();
    for (const [call, since] of held) {
      if (wanted <= 0 || since > heldBefore) {
        return;
      }
      wanted -= 1;
      release(call);
      dependencies.cancel(call);
    }
  }

  function release(call: Call): void {
    if (held.delete(call) && held.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  }

  return {
    hold(call) {
      if (!held.has(call)) {
        held.set(call, performance.now());
        timer ??= setInterval(makeRoom, CHECK_MILLISECONDS).unref();
      }
    },
    release,
  };
}
