import type { Server } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * A turn is short enough if it takes less than this part of the elapsed time. At first only an
 * empty turn is short enough. Under constant load it is the shortest of many, and after a second
 * any turn.
 */
const SHORT_TURN = 1 / 100;
const MOST_MILLISECONDS = 1000;

/**
 * Accepts the connections that the kernel has already established, and then calls `closeListener`.
 * Closing resets connections that are not accepted, with their requests, and a proxy must not
 * resend a POST (CF-02). So the close follows a turn of the event loop without new connections.
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
