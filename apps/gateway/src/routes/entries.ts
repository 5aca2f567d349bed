import type { IncomingMessage } from 'node:http';
import type { RoutedTarget, Router, RouterMatch } from '@gatehouse/server';
import type { Reply } from '../http/reply.ts';
import type { Route } from './route.ts';

/** An entry of the router that needs no credential. */
export interface PublicEntry {
  readonly method: 'GET';
  readonly path: string;
  /** The name of its requests in logs and metrics. */
  readonly operation: string;
  /** The reply to a GET of the path. @throws ApiError `not_found` */
  read(message: Pick<IncomingMessage, 'headers'>, path: string): Reply | Promise<Reply>;
}

/** What the gateway serves: routes, and documents that need no credential. */
export type Entry = Route | PublicEntry;

export type RouteMatch = RouterMatch<Entry> | undefined;

export function isPublic(entry: Entry): entry is PublicEntry {
  return 'read' in entry;
}

/** The route of a match, unless it is a public document. */
export function routeOf(match: RouteMatch): Route | undefined {
  const entry = match?.entry;
  return entry === undefined || isPublic(entry) ? undefined : entry;
}

/**
 * Finds the entry of a request, and drops a trailing slash if only the path without it has an entry.
 * Every later stage must use the returned target, so that the path that is authorized is the path
 * that is forwarded.
 */
export function findEntry<Target extends RoutedTarget>(
  router: Router<Entry>,
  method: string,
  target: Target,
): { readonly match: RouteMatch; readonly target: Target } {
  const match = router.find(method, target);
  if (match !== undefined || !target.path.endsWith('/') || target.path === '/') {
    return { match, target };
  }
  const path = target.path.slice(0, -1);
  const shorter = { ...target, path, segments: target.segments.slice(0, -1) };
  const found = router.find(method, shorter);
  return found === undefined ? { match, target } : { match: found, target: shorter };
}
