/**
 * The device API: each operation with its name, methods, paths, scope, request and reply. The
 * gateway builds its route table from it. The device service implements it.
 *
 *   members ─▶ …-schemas ─▶ …-operations ─▶ routes
 *                   operation, paths ─┘
 */
export {
  type BatchItemResult,
  type BatchResult,
  type IdResult,
  type IdsResult,
  idsRequest,
  MAXIMUM_BATCH_DEVICES,
} from './batch-schemas.ts';
export {
  type DeviceRecord,
  type DeviceState,
  type DeviceSummaryRecord,
  type DeviceType,
  deviceChangesRequest,
  deviceIdPattern,
  deviceStates,
  deviceTypes,
  newDeviceRequest,
} from './device-schemas.ts';
export { type DeviceScope, deviceScopes } from './device-scopes.ts';
export { queryRequest, termTypes } from './list-schemas.ts';
export {
  type LogRecordReply,
  type LogType,
  logRecordRequest,
  logRecordsRequest,
  logTypes,
  MAXIMUM_RECORDS,
} from './log-schemas.ts';
export { type Labeled, MAXIMUM_CONFIGURATION_ENTRIES } from './members.ts';
export {
  BATCH_BODY_LIMIT_BYTES,
  DEFAULT_BODY_LIMIT_BYTES,
  type Operation,
  type OperationMethod,
} from './operation.ts';
export { type ProductRecord, productChangesRequest } from './product-schemas.ts';
export { type OperationName, type OperationRoute, operations, routes } from './routes.ts';
export { MAXIMUM_TAGS, type TagRecord, tagRequest, tagsRequest } from './tag-schemas.ts';
