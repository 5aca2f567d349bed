/**
 * Calls a gateway from Node, Deno, Bun and browsers, with `fetch` and WebCrypto.
 *
 *   createSignedFetch ──────▶ packages/signing ──────────┐
 *   createTokenFetch ───────▶ credential-fetch ──────────┼▶ send-with-retries ─▶ fetch
 *   createAccessTokenFetch ─▶ credential-fetch ──────────┘
 *
 * Not here: sign-in of users. Use an OAuth client library such as openid-client for that.
 */
export {
  type AdminClient,
  type AdminPage,
  type ChangeOptions,
  type CreationOptions,
  createAdminClient,
} from './admin-client.ts';
export type * from './api-types.ts';
export type { CallOptions, GatehouseFetch } from './call.ts';
export {
  createDeviceClient,
  type DeviceClient,
  type LogOperations,
  type Page,
} from './device-client.ts';
export { type ClientErrorCode, GatehouseError, readResult } from './gatehouse-error.ts';
export { createSignedFetch, type SignedFetchOptions } from './signed-fetch.ts';
export {
  type AccessTokenFetchOptions,
  createAccessTokenFetch,
  createTokenFetch,
  type TokenFetchOptions,
} from './token-fetch.ts';
