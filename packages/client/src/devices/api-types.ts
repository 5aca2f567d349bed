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

export type Device = DeviceRecord;
export type DeviceSummary = Partial<DeviceSummaryRecord>;
export type NewDevice = z.input<typeof newDeviceRequest>;
export type DeviceChanges = z.input<typeof deviceChangesRequest>;
export type Tag = TagRecord;
export type NewTag = z.input<typeof tagRequest>;
export type LogRecord = LogRecordReply;
/** The input of an enumerated value has no type, so this is the type of its output. */
export type NewLogRecord = Omit<z.input<typeof logRecordRequest>, 'type'> &
  Pick<z.output<typeof logRecordRequest>, 'type'>;
export type Product = ProductRecord;
export type ProductSummary = Partial<Omit<ProductRecord, 'metadata'>>;
export type ProductChanges = z.output<typeof productChangesRequest>;
export type Query = z.input<typeof queryRequest>;
export type BatchCreation = BatchResult;
export type BatchChange = IdsResult;
