import type { RequestHandler } from 'express';

/** On every reply, failures included: never stored, never sniffed. */
export const setReplyHeaders: RequestHandler = (_request, response, next) => {
  response.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
  next();
};
