import type { RequestListener } from 'node:http';
import { messageProblem, observedRequest } from '@gatehouse/server';

/**
 * Rejects requests that two parsers could read differently, before a router or URL parser sees
 * them.
 */
export function rejectDoubtfulRequests(application: RequestListener): RequestListener {
  return (request, response) => {
    // RFC 9112 §3.2: a request to a server that is not a proxy names a path.
    const hasPath = request.url?.startsWith('/') === true;
    const problem = messageProblem(request);
    if (hasPath && problem === undefined) {
      application(request, response);
      return;
    }
    const code = 'invalid_request';
    const reason = problem?.reason ?? 'target_invalid';
    Object.assign(observedRequest(request).notes, { code, reason });
    response.writeHead(400, {
      'Content-Type': 'application/json;charset=UTF-8',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      Connection: 'close',
    });
    const description = problem
      ? `${problem.property} ${problem.message}.`
      : 'The request target must be a path that begins with `/`.';
    response.end(JSON.stringify({ error: code, error_description: description }));
  };
}
