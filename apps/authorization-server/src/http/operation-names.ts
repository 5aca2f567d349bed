/** The names of the routes in log and metrics. A path could hold a code, so it is never logged. */
export const operationNames = [
  'discovery',
  'jwks',
  'token',
  'platform-token',
  'revoke',
  'introspect',
  'par',
  'device-authorization',
  'userinfo',
  'stylesheet',
  'script',
  'icon',
  'welcome',
  'authorize',
  'authorize-resume',
  'sign-in',
  'account',
  'device',
  'device-resume',
  'logout',
  'logout-confirm',
  'logged-out',
] as const;

export type OperationName = (typeof operationNames)[number];
