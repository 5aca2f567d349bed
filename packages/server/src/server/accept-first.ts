import type { RequestListener, Server } from 'node:http';

/** Bounds the wait of requests during a flood of new connections. */
const MOST_MILLISECONDS = 50;

/**
 * Starts requests only after all waiting connections are accepted. libuv accepts one connection in
 * each turn of the event loop. If a turn also ran a request of every accepted connection, the last
 * of 128 new connections would wait for thousands of requests (bench/whole-path).
 */
export function acceptFirst(server: Server, listener: RequestListener) {
  let held: Parameters<RequestListener>[] | undefined;
  let hasAccepted = false;
  let acceptsUntil = 0;
  let isClosing = false;

  server.on('connection', () => {
    hasAccepted = true;
    if (held === undefined) {
      held = [];
      acceptsUntil = performance.now() + MOST_MILLISECONDS;
      setImmediate(endTurn);
    }
  });

  function endTurn(): void {
    if (hasAccepted && performance.now() < acceptsUntil) {
      hasAccepted = false;
      setImmediate(endTurn);
    } else if (!isClosing) {
      release();
    }
  }

  /** Skips requests whose client disconnected or that were already rejected. */
  function release(): void {
    const waiting = held ?? [];
    held = undefined;
    for (const [request, response] of waiting) {
      if (request.socket.writable) {
        listener(request, response);
      }
    }
  }

  return {
    start: ((request, response) => {
      if (held === undefined) {
        listener(request, response);
      } else {
        held.push([request, response]);
      }
    }) satisfies RequestListener,
    /** Delays new requests until the returned function is called. */
    hold() {
      isClosing = true;
      held ??= [];
      return () => {
        isClosing = false;
        release();
      };
    },
  };
}

export type AcceptFirst = ReturnType<typeof acceptFirst>;
