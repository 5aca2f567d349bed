import type { IncomingMessage, ServerResponse } from 'node:http';

/** Requests whose client sends the body only after `100 Continue`. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

export function deferContinue(request: IncomingMessage, response: ServerResponse): void {
  waiting.set(request, response);
}

/**
 * Requests the body if the client waits for it (RFC 9110 §10.1.1). Node would always do so
 * immediately.
 */
export function sendContinue(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue();
  waiting.delete(request);
}
