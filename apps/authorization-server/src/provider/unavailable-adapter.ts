import { StoreUnavailable } from '@gatehouse/store';
import { type Adapter, errors } from 'oidc-provider';

/** RFC 6749 §4.1.2.1 names the code; the status tells proxies and clients to try again. */
export class TemporarilyUnavailable extends errors.OIDCProviderError {
  override error_description = 'The store is unavailable. Try again shortly.';
  override expose = true;
  override allow_redirect = false;

  constructor(cause: StoreUnavailable) {
    super(503, 'temporarily_unavailable', { cause });
  }
}

/** The library answers an unknown error with 500 and would log it raw: a store that is away is 503. */
export function failClosed(adapter: Adapter): Adapter {
  return new Proxy(adapter, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property, target);
      if (typeof member !== 'function') {
        return member;
      }
      return async (...parameters: unknown[]) => {
        try {
          return await member.apply(target, parameters);
        } catch (error) {
          throw error instanceof StoreUnavailable ? new TemporarilyUnavailable(error) : error;
        }
      };
    },
  });
}
