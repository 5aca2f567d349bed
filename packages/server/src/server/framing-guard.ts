import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { transferEncodingProblem } from './transfer-encoding.ts';

/** Keeps data after a request with ambiguous framing from the listener (CWE-444). */
export interface FramingGuard {
  /** Marks the connection if the end of this request is ambiguous. It ends after the reply. */
  note(request: IncomingMessage, response: ServerResponse): void;
  /** Returns whether an earlier request was ambiguous. This request can be part of its body. */
  isDoubtful(request: IncomingMessage): boolean;
}

/** Node continues to parse after a reply with `Connection: close`, and emits further requests. */
export function createFramingGuard(): FramingGuard {
  const lastRequests = new WeakMap<Socket, IncomingMessage>();
  return {
    note(request, response) {
      if (isAmbiguous(request) && !lastRequests.has(request.socket)) {
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

/**
 * With an ignored `Upgrade`, Node drops bytes that arrive together with the end of the request. The
 * next request could then begin in the middle of another one.
 */
function isAmbiguous(request: IncomingMessage): boolean {
  return request.headers.upgrade !== undefined || transferEncodingProblem(request) !== undefined;
}
