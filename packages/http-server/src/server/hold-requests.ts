import type { RequestListener, Server } from 'node:http';

/**
 * From now on requests wait, so that the event loop has time for connections. The returned function begins those
 * whose senders are still there, and every later one.
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
    for (const [request, response] of held) {
      // Not where the sender left, nor where it was refused already because of what came after the head.
      if (request.socket.writable) {
        listener(request, response);
      }
    }
  };
}
