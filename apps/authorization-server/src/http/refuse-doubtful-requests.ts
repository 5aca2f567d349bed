import type { IncomingMessage, RequestListener } from 'node:http';
import { transferEncodingProblem } from '@gatehouse/http-server';

/** Rejects requests that two parsers could read differently, before a router or URL parser sees them. */
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
  // RFC 9112 §3.2: a request to a server that is not a proxy names a path.
  if (request.url?.startsWith('/') !== true) {
    return 'The request target must be a path that begins with `/`.';
  }
  const problem = transferEncodingProblem(request);
  return problem === undefined ? undefined : `Transfer-Encoding ${problem}.`;
}
