import { type IllegalArgument, illegalArgument } from '@gatehouse/api-envelope';

export interface PageRequest {
  /** Zero-based. */
  readonly pageIndex: number;
  readonly pageSize: number;
}

const DEFAULT_PAGE_SIZE = 25;
const MAX_PAGE_SIZE = 1000;

/**
 * Reads `pageIndex` and `pageSize` from query parameters. Only plain decimal digits are a number here, so
 * that no two readers disagree about `1e3`, `0x10` or ` 5`. A larger page size is clamped.
 *
 * @throws ApiError `illegal_argument` naming every wrong parameter
 */
export function parsePageRequest(parameters: URLSearchParams): PageRequest {
  const problems: IllegalArgument[] = [];
  const read = (property: string, fallback: number, minimum: number): number => {
    const values = parameters.getAll(property);
    const value = values.length === 0 ? fallback : parseDigits(values[0] ?? '');
    if (values.length > 1) {
      problems.push({ property, message: 'must be given once' });
    } else if (value === undefined || value < minimum) {
      problems.push({ property, message: `must be an integer, ${minimum} or more` });
    }
    return value ?? fallback;
  };
  const pageIndex = read('pageIndex', 0, 0);
  const pageSize = read('pageSize', DEFAULT_PAGE_SIZE, 1);
  if (problems.length > 0) {
    throw illegalArgument(problems);
  }
  return { pageIndex, pageSize: Math.min(pageSize, MAX_PAGE_SIZE) };
}

function parseDigits(text: string): number | undefined {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : undefined;
  return Number.isSafeInteger(value) ? value : undefined;
}
