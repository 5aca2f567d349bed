import { GatehouseError } from '../gatehouse-error.ts';
import type { LogRecord, NewLogRecord, Query } from './api-types.ts';
import { type Page, readPages } from './read-pages.ts';
import type { Send } from './sender.ts';

/** The limits of the operation `log.report`. */
const MAXIMUM_RECORDS = 1000;
const MAXIMUM_CHARACTERS = 256 * 1024;

export interface LogOperations {
  list(deviceId: string): Promise<readonly LogRecord[]>;
  query(deviceId: string, query?: Query): AsyncGenerator<Page<LogRecord>, void>;
  /**
   * Sends any number of records in batches, one after the other. If a batch fails, `onStored` has
   * received the records that the gateway confirmed, and `hint` their number.
   */
  report(
    deviceId: string,
    records: Iterable<NewLogRecord> | AsyncIterable<NewLogRecord>,
    onStored?: (stored: readonly LogRecord[]) => void,
  ): Promise<number>;
}

export function createLogOperations(
  send: Send,
  pathOf: (deviceId: string) => string,
): LogOperations {
  return {
    list: (deviceId) => send('GET', `${pathOf(deviceId)}/_query`),
    query: (deviceId, query) => readPages(send, `${pathOf(deviceId)}/_query`, query),
    async report(deviceId, records, onStored) {
      let count = 0;
      for await (const batch of batchesOf(records)) {
        const stored = await send<readonly LogRecord[]>('POST', pathOf(deviceId), batch).catch(
          (error: unknown) => {
            throw withCount(error, count);
          },
        );
        count += stored.length;
        onStored?.(stored);
      }
      return count;
    },
  };
}

/** A character has up to 3 bytes in UTF-8, so that no batch exceeds the limit of 1 MiB. */
async function* batchesOf(
  records: Iterable<NewLogRecord> | AsyncIterable<NewLogRecord>,
): AsyncGenerator<readonly NewLogRecord[]> {
  let batch: NewLogRecord[] = [];
  let characters = 0;
  for await (const record of records) {
    const length = JSON.stringify(record).length;
    const isFull = batch.length === MAXIMUM_RECORDS || characters + length > MAXIMUM_CHARACTERS;
    if (isFull && batch.length > 0) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(record);
    characters += length;
  }
  if (batch.length > 0) {
    yield batch;
  }
}

function withCount(error: unknown, count: number): unknown {
  if (!(error instanceof GatehouseError)) {
    return error;
  }
  const { code, message, status, requestId, hint } = error;
  const stored = `The gateway confirmed the first ${count} records.`;
  return new GatehouseError(code, message, {
    status,
    requestId,
    hint: hint === undefined ? stored : `${hint} ${stored}`,
    cause: error,
  });
}
