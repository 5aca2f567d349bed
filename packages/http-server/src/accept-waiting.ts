import type { Server } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Bounds the wait where connections never pause. */
const MOST_TURNS = 100;

/**
 * Accepts what the kernel has already connected for this process; to be followed by closing the listener at once.
 * Closing resets connections that nobody accepted yet, with the requests on them, and a proxy must not send a
 * POST again (CF-02). So it ends with a turn of the event loop that looked for connections and found none.
 */
export async function acceptWaiting(server: Server): Promise<void> {
  let accepted = true;
  const note = () => {
    accepted = true;
  };
  server.on('connection', note);
  for (let turn = 0; turn < MOST_TURNS && (accepted || turn < 2); turn += 1) {
    accepted = false;
    await nextTurn();
  }
  server.off('connection', note);
}
