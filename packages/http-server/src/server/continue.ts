import type { IncomingMessage, ServerResponse } from 'node:http';

/** Requests whose sender waits with the body until it hears `100 Continue`. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

export function deferContinue(request: IncomingMessage, response: ServerResponse): void {
  waiting.set(request, response);
}

/** Asks for the body, where its sender waits to be asked (RFC 9110 §10.1.1). Node asks everybody, at once. */
export function sendContinue(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue();
  waiting.delete(request);
}
