import type Provider from 'oidc-provider';

/** A step around the provider's own handling: before it, `await next()`, after it and before the reply is written. */
export type ProviderMiddleware = Parameters<Provider['use']>[0];
