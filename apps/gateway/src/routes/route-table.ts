import type { Route } from './route.ts';

export type RouteMatch =
  | { readonly route: Route }
  /** The path is known, but not with this method. */
  | { readonly route: undefined; readonly allow: readonly string[] }
  | undefined;

export interface RouteTable {
  match(method: string, segments: readonly string[]): RouteMatch;
}

/** Paths are compared by decoded segment, exactly: case matters, a trailing slash is another path. */
export function createRouteTable(routes: readonly Route[]): RouteTable {
  const compiled = routes.map((route) => ({ route, pattern: route.path.slice(1).split('/') }));
  return {
    match(method, segments) {
      const candidates = compiled.filter(({ pattern }) => fits(pattern, segments));
      // A HEAD is served where a GET is (RFC 9110 §9.3.2).
      const wanted = method === 'HEAD' ? 'GET' : method;
      const found = candidates.find(({ route }) => route.method === wanted);
      if (found !== undefined) {
        return found;
      }
      return candidates.length === 0
        ? undefined
        : { route: undefined, allow: allowedMethods(candidates.map(({ route }) => route)) };
    },
  };
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, index) =>
      part.startsWith('{') ? segments[index] !== '' : part === segments[index],
    )
  );
}

function allowedMethods(routes: readonly Route[]): readonly string[] {
  return routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}
