import type { RequestHandler } from 'express';

/**
 * A form of ours is posted by a page of ours. Browsers say where a request comes from in a header that pages
 * cannot forge; the forms' tokens hold where a browser does not say it. `Origin` would not do: our own
 * Referrer-Policy makes it `null`.
 */
export function refuseCrossSite(refuse: RequestHandler): RequestHandler {
  return (request, response, next) => {
    const site = request.get('sec-fetch-site') ?? 'same-origin';
    if (request.method === 'POST' && site !== 'same-origin' && site !== 'none') {
      refuse(request, response, next);
      return;
    }
    next();
  };
}
