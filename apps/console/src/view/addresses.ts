/** Addresses within the console. Those of the request log have its filters. */
import { requestFilter } from '@gatehouse/operators';
import { z } from 'zod';

export const REQUESTS_PATH = '/requests';
export const REQUEST_PATH = '/requests/:id';
/** No request id is as short as these words. */
export const FIND_PATH = '/requests/find';
export const EVENTS_PATH = '/requests/events';
export const EXPORT_PATH = '/requests/export';

/** A path of the console, or its start. Without a host, it cannot lead away. */
export function localAddress(value: unknown): string {
  const base = 'http://unused.invalid';
  const url = typeof value === 'string' ? URL.parse(value, base) : null;
  const isLocal = url?.origin === base && !url.pathname.startsWith('//');
  return isLocal ? url.pathname + url.search : '/';
}

/** A path with encoded parameters: `pathTo('/clients/:id', { id })`. */
export function pathTo(pattern: string, parameters: Readonly<Record<string, string>> = {}): string {
  return pattern.replace(/:(\w+)/g, (_whole, name) => encodeURIComponent(parameters[name] ?? ''));
}

/** The address of a screen with other parameters. Undefined removes a parameter. */
export function addressWith(
  { path, search }: { readonly path: string; readonly search: URLSearchParams },
  changes: Readonly<Record<string, string | undefined>>,
): string {
  const query = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) {
      query.delete(name);
    } else {
      query.set(name, value);
    }
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

/** As the field `datetime-local` sends it. The time zone of the operator is unknown, so it is UTC. */
export const localTime = z.iso
  .datetime({ local: true })
  .transform((text) => Date.parse(text.endsWith('Z') ? text : `${text}Z`));

/** The filters of the request log. */
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
