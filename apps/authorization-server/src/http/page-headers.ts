import type { RequestHandler } from 'express';
import helmet from 'helmet';

/** For every reply, JSON included: browsers must not guess the content type. */
export const noSniff: RequestHandler = (_request, response, next) => {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  next();
};

/** The strictest policy is the default. A page whose form leads elsewhere adds that target to `form-action`. */
export const pageHeaders: RequestHandler = helmet({
  contentSecurityPolicy: { useDefaults: false, directives: contentSecurityDirectives({}) },
  referrerPolicy: { policy: 'no-referrer' },
  frameguard: { action: 'deny' },
  strictTransportSecurity: false,
  crossOriginEmbedderPolicy: false,
});

export const noStore: RequestHandler = (_request, response, next) => {
  response.set('Cache-Control', 'no-store');
  next();
};

/** What a page needs in addition to its stylesheet and forms that post to this server. */
export interface PageNeeds {
  /**
   * Origins (or app schemes) that the redirect after a form may lead to: Chromium applies `form-action` to
   * that redirect as well.
   */
  readonly formTargets?: readonly string[];
  /** Whether the page runs a script file of this server. */
  readonly script?: boolean;
}

export function contentSecurityPolicy(needs: PageNeeds): string {
  return Object.entries(contentSecurityDirectives(needs))
    .map(([name, values]) => [name, ...values].join(' '))
    .join(';');
}

function contentSecurityDirectives({ formTargets = [], script = false }: PageNeeds) {
  return {
    'default-src': ["'none'"],
    'style-src': ["'self'"],
    'img-src': ["'self'"],
    ...(script ? { 'script-src': ["'self'"] } : {}),
    'form-action': ["'self'", ...formTargets],
    'frame-ancestors': ["'none'"],
    'base-uri': ["'none'"],
  };
}
