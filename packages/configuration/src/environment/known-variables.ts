/**
 * Every variable that an app of Gatehouse reads of its environment, but for Node's own. Apps know each other's, because
 * one environment often serves all of them; `test/variable-names.test.ts` compares this list with what they read.
 */
export const knownVariables: readonly string[] = [
  'ACCESS_TOKEN_MAXIMUM_SECONDS',
  'ADDRESS_RATE_LIMIT',
  'AUDIT_RETENTION_DAYS',
  'AUTHORIZATION_SERVER_PORT',
  'AUTHORIZATION_SERVER_SOCKET',
  'AUTHORIZATION_SERVER_URL',
  'BOOTSTRAP_FILE',
  'CLIENT_RATE_LIMIT',
  'CLIENT_REQUESTS_PER_MINUTE',
  'COOKIE_KEYS_FILE',
  'DATABASE_URL',
  'DATABASE_URL_FILE',
  'DATA_DIR',
  'DEVICE_SERVICE_PORT',
  'DEVICE_SERVICE_URL',
  'GATEWAY_JWKS_URL',
  'GATEWAY_PORT',
  'GATEWAY_SOCKET',
  'GATEWAY_URL',
  'HOST',
  'LOG_LEVEL',
  'LOG_RETENTION_DAYS',
  'MASTER_KEY_FILE',
  'MAXIMUM_CONNECTIONS',
  'OPERATIONS_PORT',
  'PAGE_REQUESTS_PER_MINUTE',
  'ROUTES_FILE',
  'SECURITY_PROFILE',
  'SHUTDOWN_DELAY_SECONDS',
  'SIGNATURE_TOLERANCE_SECONDS',
  'SIGNING_KEY_ROTATION_DAYS',
  'STORE_URL',
  'STORE_URL_FILE',
  'TRUSTED_PROXIES',
];

/** Looks like one of ours, and is in use by others: never refused. In capitals, with underscores. */
export const variablesOfOthers: readonly string[] = [
  'DATABASE_URI',
  'DATABASE_URI_FILE',
  'DATADIR',
  'DATA_DIRS',
  'GLOG_LEVEL',
  'KLOG_LEVEL',
  'LOGLEVEL',
  'LOG_LEVELS',
  'SLOG_LEVEL',
];

/** Too far from ours for a slip, and yet what somebody writes who means it. In capitals, with underscores. */
export const otherWordsForOurs: Readonly<Record<string, string>> = {
  ACCESS_TOKEN_MAX_SECONDS: 'ACCESS_TOKEN_MAXIMUM_SECONDS',
  AUDIT_RETENTION: 'AUDIT_RETENTION_DAYS',
  COOKIE_KEYS: 'COOKIE_KEYS_FILE',
  LOG_RETENTION: 'LOG_RETENTION_DAYS',
  SECURE_PROFILE: 'SECURITY_PROFILE',
  SECURITY_PROFILE_FILE: 'SECURITY_PROFILE',
  SHUTDOWN_DELAY: 'SHUTDOWN_DELAY_SECONDS',
  SIGNATURE_TOLERANCE: 'SIGNATURE_TOLERANCE_SECONDS',
  SIGNING_KEY_ROTATION: 'SIGNING_KEY_ROTATION_DAYS',
  TRUST_PROXIES: 'TRUSTED_PROXIES',
};
