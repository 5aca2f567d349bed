import { errorCatalogue, type FailureReason, failureReasons } from '@gatehouse/errors';

interface RequestLine {
  readonly status?: number;
  readonly aborted?: boolean;
  readonly code?: string;
  readonly reason?: string;
}

const reasons: ReadonlyMap<string, FailureReason> = new Map(Object.entries(failureReasons));
/** Reasons of all apps. */
const shared = new Set([
  ...Object.keys(errorCatalogue),
  ...['store_unavailable', 'unexpected_error', 'http_invalid', 'target_invalid'],
]);

/**
 * Every failed request to the authorization server has a reason that can have its code. Each suite
 * checks this for the requests that it sent.
 *
 * @throws Error with the lines of the log that have none
 */
export function assertReasons(log: string): void {
  const wrong = [...new Set(log.split('\n').filter(isWrong))];
  if (wrong.length > 0) {
    throw new Error(`Failed requests without a suitable reason:\n${wrong.join('\n')}`);
  }
}

function isWrong(text: string): boolean {
  if (!text.startsWith('{"level"') || !text.includes('"app":"authorization-server"')) {
    return false;
  }
  const { status = 0, aborted = false, code, reason = '' } = parse(text);
  const hasFailed = status >= 400 || code !== undefined;
  const isKnown = shared.has(reason) || reasons.get(reason)?.codes.includes(code ?? '') === true;
  return hasFailed && !aborted && !isKnown;
}

/** A killed process can leave half a line. */
function parse(text: string): Partial<RequestLine> {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
