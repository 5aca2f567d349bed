import type { FailureReason } from './failure-reason.ts';

/** Reasons of the device service. */
export const deviceServiceReasons = {
  internal_token_missing: {
    codes: ['unauthorized'],
    stage: 'authenticate',
    cause: 'The request has no internal token, so it did not come from the gateway.',
    fix: 'Send the request to the gateway. Only the gateway may reach the device service.',
    example: 'curl against the port of the device service',
  },
  internal_token_invalid: {
    codes: ['unauthorized'],
    stage: 'authenticate',
    cause: 'The device service rejected the internal token of the gateway.',
    fix: 'Compare the clocks of both hosts, and check GATEWAY_JWKS_URL and the GATEWAY_URL of both.',
    example: 'clocks that differ by more than a minute',
  },
  gateway_keys_unavailable: {
    codes: ['service_unavailable'],
    stage: 'authenticate',
    cause: 'The device service could not fetch the public keys of the gateway.',
    fix: 'Check GATEWAY_JWKS_URL, and that the device service reaches the operations port of the gateway.',
    example: 'a firewall between the device service and the operations port',
  },
  device_unknown: {
    codes: ['not_found'],
    stage: 'validate',
    cause: 'The organization of the client has no device with this id.',
    fix: 'Check the id, which is case-sensitive, and the organization of the client.',
    example: 'a device of another organization',
  },
  product_unknown: {
    codes: ['not_found'],
    stage: 'validate',
    cause: 'The organization of the client has no product with this id.',
    fix: 'Check the id, which is case-sensitive, and the organization of the client.',
    example: 'GET /device-product/none',
  },
  tag_unknown: {
    codes: ['not_found'],
    stage: 'validate',
    cause: 'The device has no tag with this id.',
    fix: 'List the tags of the device to find the id.',
    example: 'DELETE /api/v1/device/d1/tag/none',
  },
  body_malformed: {
    codes: ['illegal_argument'],
    stage: 'validate',
    cause: 'The body is not UTF-8 JSON, or has a member twice.',
    fix: 'Send one JSON document in UTF-8. `result` of the reply names the problem.',
    example: '{"id": "d1", "id": "d2"}',
  },
  body_not_json: {
    codes: ['unsupported_media_type'],
    stage: 'validate',
    cause: 'The body does not have the media type application/json.',
    fix: 'Send Content-Type: application/json. curl needs -H, because its default is a form.',
    example: 'curl -d \'{"name":"d1"}\' without -H',
  },
  payload_invalid: {
    codes: ['illegal_argument'],
    stage: 'validate',
    cause: 'A member of the body is missing, unknown or has an invalid value.',
    fix: 'Correct every member that `result` of the reply lists.',
    example: '{"name": ""}',
  },
  query_invalid: {
    codes: ['illegal_argument'],
    stage: 'validate',
    cause: 'A term, sort, page or field of the query is invalid.',
    fix: 'Correct the member that `result` of the reply names. docs/devices.md describes queries.',
    example: 'terms[0].column=nme',
  },
  input_not_accepted: {
    codes: ['illegal_argument'],
    stage: 'validate',
    cause: 'The operation takes no body and no parameters, but the request has some.',
    fix: 'Omit the body and the query.',
    example: 'DELETE /api/v1/device/d1?force=true',
  },
  batch_invalid: {
    codes: ['illegal_argument', 'duplicate_key'],
    stage: 'validate',
    cause:
      'The batch is empty or too large, or `allOrNothing` is set and some devices are invalid.',
    fix: 'Correct every device that `result` of the reply lists. Nothing was created.',
    example: 'two devices with the same id and allOrNothing=true',
  },
  device_active: {
    codes: ['illegal_argument'],
    stage: 'validate',
    cause: 'The device is active, so it cannot be deleted.',
    fix: 'Undeploy the device first.',
    example: 'DELETE of a device with the state online',
  },
  database_unavailable: {
    codes: ['service_unavailable'],
    stage: 'store',
    cause: 'The database of the device service does not answer, or accepts no writes.',
    fix: 'Check PostgreSQL, or the disk of the SQLite file. /ready of the device service shows the failing check.',
    example: 'PostgreSQL is restarting',
  },
} as const satisfies Readonly<Record<string, FailureReason>>;
