/**
 * The request log: every failed request and a sample of the others, for operators who explain a
 * failure. Written behind the replies, limited in number and age, in the store that all processes
 * share.
 *
 *   record ─▶ request-queue ─ every second ─▶ request-writer ─▶ request-shares, request-trails
 *   read, find ◀─ search-requests ◀─ request-trails
 *
 * Not here: choosing the requests and their members, which packages/server does.
 */
import type { Store } from '@gatehouse/store';
import type { RequestEntry } from './request-entry.ts';
import { createRequestQueue } from './request-queue.ts';
import { createRequestShares } from './request-shares.ts';
import { createRequestTrails } from './request-trails.ts';
import { createRequestWriter, type RequestLogResult } from './request-writer.ts';
import { createRequestSearch, type RequestSearch } from './search-requests.ts';

export interface RequestLog extends RequestSearch {
  /** Returns immediately and never fails. An entry without room in the queue is lost. */
  record(entry: RequestEntry): void;
  /** Resolves when all recorded entries are stored or lost. Await it before you close the store. */
  flush(): Promise<void>;
}

const FLUSH_MILLISECONDS = 1000;

export function createRequestLog(dependencies: {
  readonly store: Store;
  readonly now: () => number;
  /** Counts what happened to the entries, for metrics. */
  readonly count?: ((result: RequestLogResult, entries: number) => void) | undefined;
}): RequestLog {
  const { store, now, count = () => {} } = dependencies;
  const trails = createRequestTrails(store);
  const shares = createRequestShares({ store, now });
  const queue = createRequestQueue(shares.isUsedUp);
  const write = createRequestWriter({ trails, shares, count });
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    while (writing !== undefined || !queue.isEmpty) {
      writing ??= write(queue.take()).finally(() => {
        writing = undefined;
      });
      await writing;
    }
  }

  return {
    record(entry) {
      const lost = queue.add(entry);
      if (lost > 0) {
        count('queue_full', lost);
      }
      timer ??= setTimeout(() => void flush(), FLUSH_MILLISECONDS).unref();
    },
    flush,
    ...createRequestSearch(trails, now),
  };
}
