import type { StoreUnavailableError } from '@gatehouse/store';
import { errors } from 'oidc-provider';

/** RFC 6749 §4.1.2.1 defines the code. The status tells proxies and clients to try again. */
export class TemporarilyUnavailableError extends errors.OIDCProviderError {
  override error_description = 'The store is unavailable. Try again shortly.';
  override expose = true;
  override allow_redirect = false;

  constructor(cause: StoreUnavailableError) {
    super(503, 'temporarily_unavailable', { cause });
  }
}
