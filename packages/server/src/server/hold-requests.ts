import type { RequestListener, Server } from 'node:http';

/**
 * Delays new requests, so that the event loop can accept connections. The returned function starts
 * the requests whose clients are still connected, and every later request.
 */
export function holdRequests(server: Server, listener: RequestListener): () => void {
  const held: Parameters<RequestListener>[] = [];
  const hold: RequestListener = (...exchange) => {
    held.push(exchange);
  };
  server.off('request', listener);
  server.on('request', hold);
  return () => {
    server.off('request', hold);
    server.on('request', listener);
    startHeld(held, listener);
  };
}

/** Skips requests whose client disconnected or that were already rejected. */
export function startHeld(
  held: readonly Parameters<RequestListener>[],
  listener: RequestListener,
): void {
  for (const [request, response] of held) {
    if (request.socket.writable) {
      listener(request, response);
    }
  }
}
