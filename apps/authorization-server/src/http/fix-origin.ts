import type { RequestHandler } from 'express';

/**
 * The provider builds URLs from Host and X-Forwarded-*, which a caller controls. They are replaced
 * with the issuer's values before anything reads them (RFC 8414 §3.3).
 */
export function fixOrigin(issuer: string): RequestHandler {
  const { host, protocol } = new URL(issuer);
  return (request, _response, next) => {
    request.headers.host = host;
    request.headers['x-forwarded-proto'] = protocol.slice(0, -1);
    delete request.headers['x-forwarded-host'];
    next();
  };
}
