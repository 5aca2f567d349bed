/**
 * The exchanges whose caller does not read its reply. Each holds a connection to the service meanwhile, so that a
 * few hundred of them, with one good credential, would leave none to the others. While requests wait for a
 * connection, those that have been held longest are cancelled (slow read, CWE-400).
 */
export interface UnreadReplies<Exchange> {
  hold(exchange: Exchange): void;
  /** Also of one that is not held. */
  release(exchange: Exchange): void;
}

/** What an honest caller's network takes between two packets, and more. */
const LEAST_HELD_MILLISECONDS = 250;
const LOOK_MILLISECONDS = 100;

export function createUnreadReplies<Exchange>(dependencies: {
  /** How many requests wait for a connection. */
  readonly waiting: () => number;
  readonly cancel: (exchange: Exchange) => void;
}): UnreadReplies<Exchange> {
  // In the order of their arrival, which is that of their age.
  const held = new Map<Exchange, number>();
  let timer: NodeJS.Timeout | undefined;

  function makeRoom(): void {
    const heldBefore = performance.now() - LEAST_HELD_MILLISECONDS;
    let wanted = dependencies.waiting();
    for (const [exchange, since] of held) {
      if (wanted <= 0 || since > heldBefore) {
        return;
      }
      wanted -= 1;
      release(exchange);
      dependencies.cancel(exchange);
    }
  }

  function release(exchange: Exchange): void {
    if (held.delete(exchange) && held.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  }

  return {
    hold(exchange) {
      if (!held.has(exchange)) {
        held.set(exchange, performance.now());
        timer ??= setInterval(makeRoom, LOOK_MILLISECONDS).unref();
      }
    },
    release,
  };
}
