/** The addresses of the request log: its filters are in the URL. */
import { requestFilter } from '@gatehouse/operators';
import { z } from 'zod';
import { addressWith } from './addresses.ts';

export const REQUESTS_PATH = '/requests';
export const REQUEST_PATH = '/requests/:id';
/** No request id is as short as these words. */
export const FIND_PATH = '/requests/find';
export const EVENTS_PATH = '/requests/events';
export const EXPORT_PATH = '/requests/export';

/** As the field `datetime-local` sends it. The time zone of the operator is unknown, so it is UTC. */
const localTime = z.iso
  .datetime({ local: true })
  .transform((text) => Date.parse(text.endsWith('Z') ? text : `${text}Z`));

/** The filters in the URL. */
export const requestQuery = requestFilter
  .omit({ cursor: true, limit: true })
  .extend({ since: localTime.optional(), until: localTime.optional() })
  .strip();

/** @param since epoch milliseconds */
export function logAddress(
  filter: Readonly<Partial<Record<keyof z.output<typeof requestQuery>, string | undefined>>>,
  since?: number,
): string {
  const from = since === undefined ? {} : { since: new Date(since).toISOString().slice(0, 16) };
  const search = new URLSearchParams();
  return addressWith({ path: REQUESTS_PATH, search }, { ...filter, ...from });
}
