import type { RequestListener } from 'node:http';

/**
 * RFC 9112 §3.2: a server that is no proxy is asked for a path. Anything else is refused before a router or a URL
 * parser has a meaning for it.
 */
export function refuseAbsoluteForm(application: RequestListener): RequestListener {
  return (request, response) => {
    if (request.url?.startsWith('/') === true) {
      application(request, response);
      return;
    }
    response.writeHead(400, {
      'Content-Type': 'application/json;charset=UTF-8',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      Connection: 'close',
    });
    response.end('{"error":"invalid_request","error_description":"Ask for a path."}');
  };
}
