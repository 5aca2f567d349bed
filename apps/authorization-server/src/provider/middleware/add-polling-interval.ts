import { providerRoutes } from '../../http/provider-routes.ts';
import { POLLING_INTERVAL_SECONDS } from '../adapters/device-codes.ts';
import type { ProviderMiddleware } from './provider-middleware.ts';

/** RFC 8628 §3.2: the library omits the interval. */
export const addPollingInterval: ProviderMiddleware = async (context, next) => {
  await next();
  const { body } = context;
  const isDeviceCode = typeof body === 'object' && body !== null && 'device_code' in body;
  if (isDeviceCode && context.path === providerRoutes.device_authorization) {
    context.body = { ...body, interval: POLLING_INTERVAL_SECONDS };
  }
};
