import type { RequestHandler } from 'express';

/** On every reply: no caching and no content sniffing. */
export const setReplyHeaders: RequestHandler = (_request, response, next) => {
  response.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
  next();
};
