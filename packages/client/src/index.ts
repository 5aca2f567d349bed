/**
 * Calls a gateway from Node, Deno, Bun and browsers, with `fetch` and WebCrypto.
 *
 *   createSignedFetch ──────▶ signature-version-1 or -2 ─┐
 *   createTokenFetch ───────▶ token-cache ───────────────┼▶ send-with-retries ─▶ fetch
 *   createAccessTokenFetch ─▶ token-cache ───────────────┘
 *
 * Not here: sign-in of users. Use an OAuth client library such as openid-client for that.
 */
export { type AccessTokenFetchOptions, createAccessTokenFetch } from './access-token-fetch.ts';
export type { CallOptions, GatehouseFetch } from './call.ts';
export type * from './devices/api-types.ts';
export { createDeviceClient, type DeviceClient } from './devices/device-client.ts';
export type { LogOperations } from './devices/log-operations.ts';
export type { Page } from './devices/read-pages.ts';
export { readResult } from './envelope.ts';
export { type ClientErrorCode, GatehouseError } from './gatehouse-error.ts';
export { createSignedFetch, type SignedFetchOptions } from './signed-fetch.ts';
export { createTokenFetch, type TokenFetchOptions } from './token-fetch.ts';
