import type { Server } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * A turn that took less than this part of the time spent looking is short enough: at first only an empty turn is,
 * under a load that never pauses the shortest of many, and after a second any.
 */
const SHORT_TURN = 1 / 100;
const MOST_MILLISECONDS = 1000;

/**
 * Accepts what the kernel has already connected for this process, then calls `closeListener` at once.
 * Closing resets connections that nobody accepted yet, with the requests on them, and a proxy must not send a
 * POST again (CF-02). So it comes after a turn of the event loop that looked for connections, found none, and had
 * little else to do: what connects between the look and the close is lost.
 */
export async function acceptWaiting(server: Server, closeListener: () => void): Promise<void> {
  let accepted = false;
  const note = () => {
    accepted = true;
  };
  server.on('connection', note);
  const begun = performance.now();
  let turnBegun = begun;
  for (;;) {
    accepted = false;
    await nextTurn();
    const now = performance.now();
    const looked = now - begun;
    if ((!accepted && now - turnBegun < looked * SHORT_TURN) || looked > MOST_MILLISECONDS) {
      closeListener();
      break;
    }
    turnBegun = now;
  }
  server.off('connection', note);
}
