/**
 * Owns what devices report: records that are added, found newest first, and expire.
 *
 *   http/ ─▶ report-log ─▶ Logs (port) ◀─ sql-logs (adapter) ─▶ state-transitions: online, offline
 *            describe-log-record            expire-logs: oldest first, a little at a time
 *
 * Records are never changed. Talking to devices is not here: whoever does reports what happened.
 */
import type { LogType } from '@gatehouse/device-api';
import type { Query } from '../query-grammar/query.ts';
import type { Page } from '../query-grammar/read-page.ts';

export interface NewLogRecord {
  readonly type: LogType;
  /** Epoch milliseconds: when it happened, as the device says; ours where it says nothing. */
  readonly timestamp: number;
  readonly content: string;
  /** Empty: none. */
  readonly messageId: string;
  /** Of the connection; only with `online`. */
  readonly address: string | undefined;
}

export interface LogRecord extends Omit<NewLogRecord, 'address'> {
  readonly id: string;
  readonly deviceId: string;
  readonly productId: string;
  /** Epoch milliseconds: when it was stored, by our clock. */
  readonly createTime: number;
}

/** The logs of one organisation's devices. Undefined: no such device. */
export interface Logs {
  /** Newest first by `timestamp`, unless the query says otherwise. */
  page(deviceId: string, query: Query): Promise<Page<LogRecord> | undefined>;

  /** Adds all of them and moves the state of the device, in one atomic step. */
  append(
    deviceId: string,
    records: readonly NewLogRecord[],
    now: number,
  ): Promise<readonly LogRecord[] | undefined>;
}
