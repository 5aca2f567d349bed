import type { Store } from '@gatehouse/store';
import type { Request } from 'express';
import { createAttemptLimit } from '../http/attempt-limit.ts';
import { pageLanguage } from '../pages/language.ts';
import { renderPage } from '../pages/layout.ts';
import { fill } from '../pages/texts.ts';
import type { ProviderMiddleware } from '../provider/provider-middleware.ts';
import { providerRoutes } from '../provider/routes.ts';
import { deviceProblemView } from './views/outcome-views.ts';

/**
 * RFC 8628 §5.1: eight of twenty letters are few enough to be tried by the million. By address: a cookie would be
 * left out. Many people may share one, so the limit is what typing errors of an office stay below.
 */
const limits = { name: 'user-code', attempts: 20, windowSeconds: 600 } as const;

export function limitUserCodes(store: Store): ProviderMiddleware {
  const limit = createAttemptLimit(store, limits);
  return async (context, next) => {
    if (context.method !== 'POST' || context.path !== providerRoutes.code_verification) {
      return next();
    }
    // Express reads it with respect to the proxies it trusts; Koa's own would believe everybody.
    const address = (context.req as Request).ip ?? 'unknown';
    const wait = await limit.take(address);
    if (wait !== undefined) {
      const { language, texts } = pageLanguage(context);
      const minutes = String(Math.ceil(wait / 60));
      const message = fill(texts.deviceTooMany, { minutes });
      context.status = 429;
      context.set('Retry-After', String(wait));
      context.type = 'html';
      const content = deviceProblemView(message, texts);
      context.body = renderPage({ language, title: texts.deviceTitle, content });
      return;
    }
    await next();
    if (context.oidc?.entities.DeviceCode !== undefined) {
      await limit.giveBack(address);
    }
  };
}
