/**
 * The device API: each operation in one entry, with its name, methods, paths, scope, schemas, texts
 * and example. The gateway builds its route table from it. The device service implements it.
 *
 *   labels ─▶ members ─▶ device-schemas, queries ─▶ device-operations, tags, logs, products ─▶ routes
 *   openapi/ describes the routes as an OpenAPI document
 */
export {
  type BatchItemResult,
  type BatchResult,
  type DeviceRecord,
  type DeviceSummaryRecord,
  deviceChangesRequest,
  deviceIdPattern,
  deviceRecord,
  type IdResult,
  type IdsResult,
  idsRequest,
  MAXIMUM_BATCH_DEVICES,
  newDeviceRequest,
} from './device-schemas.ts';
export {
  deviceTypeLabels,
  type Labels,
  type Language,
  logTypeLabels,
  stateLabels,
} from './labels.ts';
export {
  type LogRecordReply,
  logRecordRequest,
  logRecordsRequest,
} from './logs.ts';
export { MAXIMUM_CONFIGURATION_ENTRIES } from './members.ts';
export {
  BATCH_BODY_LIMIT_BYTES,
  DEFAULT_BODY_LIMIT_BYTES,
  deviceScopes,
  type Operation,
} from './operation.ts';
export { type ProductRecord, productChangesRequest } from './products.ts';
export { queryRequest, termTypes } from './queries.ts';
export { type OperationName, operations, routes } from './routes.ts';
export { MAXIMUM_TAGS, type TagRecord, tagRequest, tagsRequest } from './tags.ts';
