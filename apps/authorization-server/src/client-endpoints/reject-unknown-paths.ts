import type { RequestHandler } from 'express';
import { markPlatformRequest } from '../http/platform-requests.ts';
import { writeTransportError } from './transport.ts';

/**
 * Clients get JSON for a path below an endpoint, such as `/token/`, and for a wrong method of a
 * document. It is mounted at the paths of the endpoints, after their routes.
 */
export function rejectUnknownPaths(platformPath: string): RequestHandler {
  return (request, response) => {
    const endpoint = request.baseUrl;
    if (endpoint === platformPath) {
      markPlatformRequest(request);
    }
    const [path] = request.originalUrl.split('?', 1);
    writeTransportError(
      request,
      response,
      path === endpoint
        ? {
            status: 405,
            error: 'invalid_request',
            reason: 'method_not_allowed',
            description: 'This endpoint answers GET only.',
            headers: { Allow: 'GET, HEAD' },
          }
        : {
            status: 404,
            error: 'invalid_request',
            reason: 'not_found',
            description: `There is no such endpoint. Its path is ${endpoint}.`,
          },
    );
  };
}
