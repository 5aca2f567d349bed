import type Provider from 'oidc-provider';

/**
 * A Koa step around the provider's endpoints. After `await next()`, the reply is complete but not
 * yet written.
 */
export type ProviderMiddleware = Parameters<Provider['use']>[0];
