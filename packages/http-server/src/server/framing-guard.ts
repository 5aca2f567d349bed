import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { transferEncodingProblem } from './transfer-encoding.ts';

/** Keeps what follows a request of doubtful framing away from the listener (CWE-444). */
export interface FramingGuard {
  /** Marks the connection if the end of this request is in doubt. Its reply then ends the connection. */
  note(request: IncomingMessage, response: ServerResponse): void;
  /** Whether an earlier request on the connection was in doubt: this one may be a part of its body. */
  isDoubtful(request: IncomingMessage): boolean;
}

/** Node parses on after a reply with `Connection: close`, and emits the requests that it finds. */
export function createFramingGuard(): FramingGuard {
  const lastRequests = new WeakMap<Socket, IncomingMessage>();
  return {
    note(request, response) {
      if (transferEncodingProblem(request) !== undefined && !lastRequests.has(request.socket)) {
        lastRequests.set(request.socket, request);
        response.shouldKeepAlive = false;
      }
    },
    isDoubtful(request) {
      const last = lastRequests.get(request.socket);
      return last !== undefined && last !== request;
    },
  };
}
