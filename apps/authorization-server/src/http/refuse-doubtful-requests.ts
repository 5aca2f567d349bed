import type { IncomingMessage, RequestListener } from 'node:http';
import { transferEncodingProblem } from '@gatehouse/http-server';

/** Refuses requests that two readers could understand differently, before a router or a URL parser sees them. */
export function refuseDoubtfulRequests(application: RequestListener): RequestListener {
  return (request, response) => {
    const description = problemOf(request);
    if (description === undefined) {
      application(request, response);
      return;
    }
    response.writeHead(400, {
      'Content-Type': 'application/json;charset=UTF-8',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      Connection: 'close',
    });
    response.end(JSON.stringify({ error: 'invalid_request', error_description: description }));
  };
}

function problemOf(request: IncomingMessage): string | undefined {
  // RFC 9112 §3.2: a server that is no proxy is asked for a path.
  if (request.url?.startsWith('/') !== true) {
    return 'The request target must be a path that begins with `/`.';
  }
  const problem = transferEncodingProblem(request);
  return problem === undefined ? undefined : `Transfer-Encoding ${problem}.`;
}
