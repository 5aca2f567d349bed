/** The addresses of the request log: its filters are in the URL. */
import { isFailureReason } from '@gatehouse/errors';
import { z } from 'zod';

export const REQUESTS_PATH = '/requests';
export const REQUEST_PATH = '/requests/:id';
/** No request id is as short as these words. */
export const FIND_PATH = '/requests/find';
export const EVENTS_PATH = '/requests/events';
export const EXPORT_PATH = '/requests/export';

/** As the field `datetime-local` sends it. The time zone of the operator is unknown, so it is UTC. */
const localTime = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?$/)
  .refine((text) => !Number.isNaN(Date.parse(`${text}Z`)));

/** The filters in the URL. */
export const requestQuery = z.object({
  clientId: z.string().max(300).optional(),
  user: z.string().max(300).optional(),
  orgId: z.string().max(128).optional(),
  reason: z.string().refine(isFailureReason).optional(),
  code: z.string().max(100).optional(),
  operation: z.string().max(200).optional(),
  addressGroup: z.string().max(100).optional(),
  since: localTime.optional(),
  until: localTime.optional(),
});

export type RequestQuery = z.output<typeof requestQuery>;

/** The same filters, as the acts of operators take them. */
export function toFilter({ since, until, ...members }: RequestQuery) {
  const toTime = (text: string | undefined) =>
    text === undefined ? undefined : Date.parse(`${text}Z`);
  const times = { since: toTime(since), until: toTime(until) };
  return { ...members, ...times };
}

/** @param since epoch milliseconds */
export function logAddress(
  filter: Readonly<Partial<Record<keyof RequestQuery, string | undefined>>>,
  since?: number,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) {
    if (value !== undefined) {
      query.set(name, value);
    }
  }
  if (since !== undefined) {
    query.set('since', new Date(since).toISOString().slice(0, 16));
  }
  return `${REQUESTS_PATH}${query.size === 0 ? '' : `?${query}`}`;
}
