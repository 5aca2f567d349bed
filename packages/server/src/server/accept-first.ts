import type { RequestListener, Server } from 'node:http';
import { startHeld } from './drain.ts';

/** Bounds the wait of requests during a flood of new connections. */
const MOST_MILLISECONDS = 50;

/**
 * Returns a listener that starts requests only after all waiting connections are accepted. libuv
 * accepts one connection in each turn of the event loop. If a turn also ran a request of every
 * accepted connection, the last of 128 new connections would wait for thousands of requests
 * (bench/whole-path).
 */
export function acceptFirst(server: Server, listener: RequestListener): RequestListener {
  let held: Parameters<RequestListener>[] | undefined;
  let hasAccepted = false;
  let acceptsUntil = 0;

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
      return;
    }
    const waiting = held ?? [];
    held = undefined;
    startHeld(waiting, listener);
  }

  return (request, response) => {
    if (held === undefined) {
      listener(request, response);
    } else {
      held.push([request, response]);
    }
  };
}
