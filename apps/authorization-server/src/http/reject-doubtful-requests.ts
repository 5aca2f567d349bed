import type { IncomingMessage, RequestListener } from 'node:http';
import type { FailureReasonName } from '@gatehouse/errors';
import { observedRequest, transferEncodingProblem } from '@gatehouse/server';

/**
 * Rejects requests that two parsers could read differently, before a router or URL parser sees
 * them.
 */
export function rejectDoubtfulRequests(application: RequestListener): RequestListener {
  return (request, response) => {
    const problem = problemOf(request);
    if (problem === undefined) {
      application(request, response);
      return;
    }
    const { reason, description } = problem;
    Object.assign(observedRequest(request).notes, { code: 'invalid_request', reason });
    response.writeHead(400, {
      'Content-Type': 'application/json;charset=UTF-8',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      Connection: 'close',
    });
    response.end(JSON.stringify({ error: 'invalid_request', error_description: description }));
  };
}

interface Problem {
  readonly reason: FailureReasonName;
  readonly description: string;
}

function problemOf(request: IncomingMessage): Problem | undefined {
  // RFC 9112 §3.2: a request to a server that is not a proxy names a path.
  if (request.url?.startsWith('/') !== true) {
    return {
      reason: 'target_invalid',
      description: 'The request target must be a path that begins with `/`.',
    };
  }
  const problem = transferEncodingProblem(request);
  return problem === undefined
    ? undefined
    : {
        reason: 'framing_ambiguous',
        description: `Transfer-Encoding ${problem}.`,
      };
}
