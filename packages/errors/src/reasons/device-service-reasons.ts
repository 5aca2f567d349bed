import { reasons } from './failure-reason.ts';

/** Reasons of the device service, in addition to its error codes. */
export const deviceServiceReasons = {
  ...reasons('authenticate', ['unauthorized'], {
    internal_token_rejected: {
      cause: 'The request has no valid internal token of the gateway.',
      fix: 'Send requests to the gateway: only the gateway may reach the device service. Operators: compare the clocks of both hosts, and check GATEWAY_JWKS_URL and the GATEWAY_URL of both.',
    },
  }),
  ...reasons('authenticate', ['service_unavailable'], {
    gateway_keys_unavailable: {
      cause: 'The device service could not fetch the public keys of the gateway.',
      fix: 'Check GATEWAY_JWKS_URL, and that the device service reaches the operations port of the gateway.',
    },
  }),
  ...reasons('store', ['service_unavailable'], {
    database_unavailable: {
      cause: 'The database of the device service does not answer, or accepts no writes.',
      fix: 'Check PostgreSQL, or the disk of the SQLite file. /ready of the device service shows the failing check.',
    },
  }),
};
