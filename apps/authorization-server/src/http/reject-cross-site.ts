import type { RequestHandler } from 'express';

/**
 * Rejects forms that another site posts. Browsers report the site in a header that pages cannot
 * forge. Where a browser omits it, the token of the form protects it. `Origin` does not help:
 * Gatehouse's Referrer-Policy makes it `null`.
 */
export function rejectCrossSite(reject: RequestHandler): RequestHandler {
  return (request, response, next) => {
    const site = request.get('sec-fetch-site') ?? 'same-origin';
    if (request.method === 'POST' && site !== 'same-origin' && site !== 'none') {
      reject(request, response, next);
      return;
    }
    next();
  };
}
