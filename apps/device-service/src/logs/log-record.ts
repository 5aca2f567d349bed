/**
 * Owns the records that devices report. They are added, queried newest first, and expire.
 *
 *   http/ ─▶ report-log ─▶ Logs (port) ◀─ sql-logs (adapter) ─▶ state-transitions: online, offline
 *            describe-log-record            expire-logs: oldest first, in small steps
 *
 * Records never change. Communication with devices is not here: a device connector reports the
 * records.
 */
import type { LogType } from '@gatehouse/device-api';
import type { Query } from '../query-grammar/query.ts';
import type { Page } from '../query-grammar/read-page.ts';

export interface NewLogRecord {
  readonly type: LogType;
  /**
   * Epoch milliseconds: when it happened. If the device sends no time, when the service received
   * it.
   */
  readonly timestamp: number;
  readonly content: string;
  /** Empty: none. */
  readonly messageId: string;
  /** Address of the connection, only with `online`. */
  readonly address: string | undefined;
}

export interface LogRecord extends Omit<NewLogRecord, 'address'> {
  readonly id: string;
  readonly deviceId: string;
  readonly productId: string;
  /** Epoch milliseconds: when the service stored it. */
  readonly createTime: number;
}

/** The logs of one organization. Undefined: the device does not exist. */
export interface Logs {
  /** Newest first by `timestamp`, unless the query has sorts. */
  page(deviceId: string, query: Query): Promise<Page<LogRecord> | undefined>;

  /** Adds the records and updates the state of the device, in one atomic step. */
  append(
    deviceId: string,
    records: readonly NewLogRecord[],
    now: number,
  ): Promise<readonly LogRecord[] | undefined>;
}
