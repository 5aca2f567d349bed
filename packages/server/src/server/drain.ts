import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { AcceptFirst, Connections } from './connections.ts';
import type { ServeOptions } from './serve.ts';
import { serverLimits } from './server-limits.ts';

/** A request may already be in transit on an idle connection. It still gets a reply. */
const IDLE_GRACE_MILLISECONDS = 250;
/** Ends a server without losing a connection that the kernel has established. */
export async function drain(
  server: Server,
  hold: AcceptFirst['hold'],
  connections: Connections,
  options: Pick<
    ServeOptions,
    'drainMilliseconds' | 'shutdownDelayMilliseconds' | 'untilListenerCloses'
  >,
): Promise<void> {
  const { shutdownDelayMilliseconds: delay = 0, untilListenerCloses } = options;
  const limit = options.drainMilliseconds ?? serverLimits.drainTimeout;
  connections.startDraining();
  const cut = setTimeout(() => connections.cutAll(), limit);
  if (delay > 0) {
    await sleep(Math.min(delay, limit));
  }
  await untilListenerCloses?.();
  const release = hold();
  const closed = Promise.withResolvers<void>();
  await acceptWaiting(server);
  // server.close() would cut idle connections, with requests in transit.
  NetServer.prototype.close.call(server, () => closed.resolve());
  release();
  const grace = setTimeout(
    // Gives the event loop turns to read data that has arrived.
    () => setImmediate(() => setImmediate(() => connections.cutIdle())),
    Math.min(IDLE_GRACE_MILLISECONDS, limit),
  );
  await closed.promise;
  clearTimeout(grace);
  clearTimeout(cut);
  // Stops the interval in which Node checks for overdue requests.
  server.close();
}

/**
 * A turn is short enough if it takes less than this part of the elapsed time. At first only an
 * empty turn is short enough. Under constant load it is the shortest of many, and after a second
 * any turn.
 */
const SHORT_TURN = 1 / 100;
const MOST_MILLISECONDS = 1000;

/**
 * Accepts the connections that the kernel has already established. Closing the listener resets
 * connections that are not accepted, with their requests, and a proxy must not resend a POST. So
 * the close follows a turn of the event loop without new connections.
 */
async function acceptWaiting(server: Server): Promise<void> {
  let accepted: boolean;
  const note = () => {
    accepted = true;
  };
  server.on('connection', note);
  const begun = performance.now();
  let turn: number;
  let looked: number;
  do {
    accepted = false;
    const turnBegun = performance.now();
    await nextTurn();
    turn = performance.now() - turnBegun;
    looked = performance.now() - begun;
  } while ((accepted || turn >= looked * SHORT_TURN) && looked <= MOST_MILLISECONDS);
  server.off('connection', note);
}
