import { type Authenticator, tokenRefused } from './authenticator.ts';

/** Method B: `X-Access-Token`. No such token is issued yet, so every one is unknown. */
export function createAccessTokenAuthenticator(): Authenticator {
  return {
    async authenticate({ credentials }) {
      if (credentials.accessToken === undefined) {
        return undefined;
      }
      throw tokenRefused();
    },
  };
}
