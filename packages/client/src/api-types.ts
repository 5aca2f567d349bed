/**
 * The types of the device API, inferred from its schemas. The build replaces this file with their
 * expansion, so that the published declarations need neither that package nor zod.
 */
import type {
  BatchResult,
  DeviceRecord,
  DeviceSummaryRecord,
  deviceChangesRequest,
  IdsResult,
  LogRecordReply,
  logRecordRequest,
  newDeviceRequest,
  ProductRecord,
  productChangesRequest,
  queryRequest,
  TagRecord,
  tagRequest,
} from '@gatehouse/device-api';
import type { z } from 'zod';

export interface Device extends DeviceRecord {}
export interface DeviceSummary extends Partial<DeviceSummaryRecord> {}
export interface NewDevice extends z.input<typeof newDeviceRequest> {}
export interface DeviceChanges extends z.input<typeof deviceChangesRequest> {}
export interface Tag extends TagRecord {}
export interface NewTag extends z.input<typeof tagRequest> {}
export interface LogRecord extends LogRecordReply {}
/** The input of an enumerated value has no type, so this is the type of its output. */
export type NewLogRecord = Omit<z.input<typeof logRecordRequest>, 'type'> &
  Pick<z.output<typeof logRecordRequest>, 'type'>;
export interface Product extends ProductRecord {}
export interface ProductSummary extends Partial<Omit<ProductRecord, 'metadata'>> {}
export interface ProductChanges extends z.output<typeof productChangesRequest> {}
export interface Query extends z.input<typeof queryRequest> {}
export interface BatchCreation extends BatchResult {}
export interface BatchChange extends IdsResult {}
