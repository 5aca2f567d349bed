import { responseModes } from '../policy/response-modes.ts';
import type { ProviderMiddleware } from './provider-middleware.ts';

/** Discovery lists only what clients can use (RFC 8414). */
export const nameServedResponseModes: ProviderMiddleware = async (context, next) => {
  await next();
  const { body } = context;
  if (typeof body === 'object' && body !== null && 'response_modes_supported' in body) {
    context.body = { ...body, response_modes_supported: responseModes };
  }
};
