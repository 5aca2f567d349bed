import express, { type Express } from 'express';

/** Matches paths exactly, and adds no header of its own. */
export function createExactRouting(trustedProxies: readonly string[]): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('trust proxy', [...trustedProxies]);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  return app;
}
