import type { IncomingMessage, RequestListener } from 'node:http';
import { refusalBody } from './client-error.ts';

/** Node leaves out the headers over its limit without a word: what was then read is not what was sent (GW-29). */
export function hasTooManyHeaders({ rawHeaders }: IncomingMessage, limit: number): boolean {
  return rawHeaders.length > 2 * limit;
}

/** Answers 431 in place of the listener, and ends the connection. */
export function refuseTooManyHeaders(listener: RequestListener, limit: number): RequestListener {
  return (request, response) => {
    if (!hasTooManyHeaders(request, limit)) {
      listener(request, response);
      return;
    }
    const { status, headers, body } = refusalBody('HPE_HEADER_OVERFLOW');
    request.resume();
    response.writeHead(status, { ...headers, Connection: 'close' }).end(body);
  };
}
