/**
 * Variables that protect data. If the app ignored one, it could trust, accept or keep more than the
 * operator allows, or use a different store or key.
 */
export const securityVariables: readonly string[] = [
  'ACCESS_TOKEN_MAXIMUM_SECONDS',
  'ADDRESS_RATE_LIMIT',
  'AUDIT_RETENTION_DAYS',
  'AUTHORIZATION_SERVER_URL',
  'BOOTSTRAP_FILE',
  'CLIENT_RATE_LIMIT',
  'CLIENT_REQUESTS_PER_MINUTE',
  'COOKIE_KEYS_FILE',
  'DATABASE_URL',
  'DATABASE_URL_FILE',
  'DATA_DIR',
  'EXPLORER',
  'FORWARD_AUTH',
  'GATEWAY_JWKS_URL',
  'GATEWAY_URL',
  'LOG_RETENTION_DAYS',
  'MASTER_KEY_FILE',
  'PAGE_REQUESTS_PER_MINUTE',
  'ROUTES_FILE',
  'SECURITY_PROFILE',
  'SIGNATURE_TOLERANCE_SECONDS',
  'SIGNING_KEY_ROTATION_DAYS',
  'STORE_URL',
  'STORE_URL_FILE',
  'TRUSTED_PROXIES',
];

const otherVariables: readonly string[] = [
  'AUTHORIZATION_SERVER_PORT',
  'AUTHORIZATION_SERVER_SOCKET',
  'DEVICE_SERVICE_PORT',
  'DEVICE_SERVICE_SOCKET',
  'DEVICE_SERVICE_URL',
  'GATEWAY_PORT',
  'GATEWAY_SOCKET',
  'HOST',
  'LOG_LEVEL',
  'MAXIMUM_CONNECTIONS',
  'OPERATIONS_PORT',
  'SHUTDOWN_DELAY_SECONDS',
  'WORKERS',
];

/**
 * Every variable that an app reads, except those of Node. Each app knows the variables of all apps,
 * because one environment often serves all of them. `test/variable-names.test.ts` checks this list.
 */
export const knownVariables: readonly string[] = [...securityVariables, ...otherVariables];
