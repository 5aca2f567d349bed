import { findByDeviceId } from '../input/find-by-device-id.ts';
import type { InventoryOf } from '../inventory/inventory.ts';
import { describeLogRecord } from '../logs/describe-log-record.ts';
import type { LogRecord } from '../logs/log-record.ts';
import { logSubject } from '../logs/log-subject.ts';
import { reportLog } from '../logs/report-log.ts';
import { countHeaders, describeItems, describePage } from '../query-grammar/describe-page.ts';
import type { Query } from '../query-grammar/query.ts';
import type { Page } from '../query-grammar/read-page.ts';
import type { Handler } from './handle-requests.ts';
import type { Caller } from './internal-token.ts';
import { readJsonBody } from './json-body.ts';
import { readBodyQuery } from './query-request.ts';
import { languageOf, pathPart } from './request-parts.ts';
import type { RoutedRequest } from './route-table.ts';

export interface LogHandlerDependencies {
  readonly inventoryOf: InventoryOf;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Operation 1 returns an array, with the count in a header. */
export function handleListLog(dependencies: LogHandlerDependencies): Handler {
  return async (request, caller) => {
    const { page, query } = await findPage(request, caller, dependencies);
    const language = languageOf(request);
    return {
      result: describeItems(page, query, (record) => describeLogRecord(record, language)),
      headers: countHeaders(page),
    };
  };
}

export function handleQueryLog(dependencies: LogHandlerDependencies): Handler {
  return async (request, caller) => {
    const { page, query } = await findPage(request, caller, dependencies);
    const language = languageOf(request);
    return { result: describePage(page, query, (record) => describeLogRecord(record, language)) };
  };
}

/** Returns the stored record, or an array for an array. */
export function handleReportLog({ inventoryOf, now }: LogHandlerDependencies): Handler {
  return async (request, caller) => {
    const { logs } = inventoryOf(caller.organizationId);
    const body = await readJsonBody(request);
    const records = await reportLog(pathPart(request, 'deviceId'), body, { logs, now });
    const language = languageOf(request);
    const described = records.map((record) => describeLogRecord(record, language));
    return { result: Array.isArray(body) ? described : described[0] };
  };
}

async function findPage(
  request: RoutedRequest,
  caller: Caller,
  { inventoryOf }: LogHandlerDependencies,
): Promise<{ readonly page: Page<LogRecord>; readonly query: Query }> {
  const query = await readBodyQuery(request, logSubject);
  const { logs } = inventoryOf(caller.organizationId);
  const id = pathPart(request, 'deviceId');
  return { query, page: await findByDeviceId(id, (known) => logs.page(known, query)) };
}
