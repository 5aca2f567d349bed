/** What every file of this folder takes from the library, and adds to each adapter. */
import { StoreUnavailableError } from '@gatehouse/store';
import Provider, { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { contextOf, type RequestContext } from '../requests/request-context.ts';

/** The request that the library is serving; undefined outside a request. */
export const currentContext = () => Provider.ctx;

/** What the server knows about that request. Outside a request, it knows and remembers nothing. */
export const currentRequest = (): RequestContext =>
  Provider.ctx ? contextOf(Provider.ctx.req) : {};

/**
 * A Koa step around the provider's endpoints. After `await next()`, the reply is complete but not
 * yet written.
 */
export type ProviderMiddleware = Parameters<Provider['use']>[0];

/** An adapter that checks or charges each record before it is stored. */
export function beforeUpsert(
  stored: Adapter,
  check: (payload: AdapterPayload, id: string) => Promise<void>,
): Adapter {
  return {
    ...stored,
    async upsert(id, payload, expiresIn) {
      await check(payload, id);
      await stored.upsert(id, payload, expiresIn);
    },
  };
}

/** The library would turn an unavailable store into a 500 and log the raw error. */
export function failClosed(adapter: Adapter): Adapter {
  const operations = Object.entries(adapter).map(([name, operation]) => [
    name,
    async (...parameters: readonly unknown[]) => {
      try {
        return await operation(...parameters);
      } catch (error) {
        throw error instanceof StoreUnavailableError
          ? new TemporarilyUnavailableError(error)
          : error;
      }
    },
  ]);
  return Object.fromEntries(operations);
}

/** RFC 6749 §4.1.2.1 defines the code. The status tells proxies and clients to try again. */
class TemporarilyUnavailableError extends errors.OIDCProviderError {
  override error_description = 'The store is unavailable. Try again shortly.';
  override expose = true;
  override allow_redirect = false;

  constructor(cause: StoreUnavailableError) {
    super(503, 'temporarily_unavailable', { cause });
  }
}
