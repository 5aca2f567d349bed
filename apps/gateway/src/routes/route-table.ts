import type { Route } from './route.ts';

export type RouteMatch =
  | { readonly route: Route }
  /** The path is known, but not with this method. */
  | { readonly route: undefined; readonly allow: readonly string[] }
  | undefined;

export interface RouteTable {
  match(method: string, target: RoutedTarget): RouteMatch;
  /**
   * Drops a trailing slash if only the path without it has a route. Every later stage must use this
   * target, so that the path that is authorized is the path that is forwarded.
   */
  withoutExtraSlash<Target extends RoutedTarget>(target: Target): Target;
}

/** The part of a request target that decides its route. */
export interface RoutedTarget {
  /** Normalized: paths with equal segments are equal texts. */
  readonly path: string;
  readonly segments: readonly string[];
}

interface Pattern {
  readonly parts: readonly string[];
  readonly byMethod: Map<string, { readonly route: Route }>;
}

/**
 * Compares paths by decoded segment: case matters, and so does a trailing slash. A path without a
 * parameter takes precedence, regardless of the order in the table.
 */
export function createRouteTable(routes: readonly Route[]): RouteTable {
  const plain = new Map<string, Pattern>();
  const patterns = new Map<string, Pattern>();
  for (const route of routes) {
    const shapes = route.path.includes('{') ? patterns : plain;
    const shape = pathShape(route.path);
    const pattern = shapes.get(shape) ?? { parts: splitPath(shape), byMethod: new Map() };
    pattern.byMethod.set(route.method, { route });
    shapes.set(shape, pattern);
  }
  const byLength = Map.groupBy(patterns.values(), ({ parts }) => parts.length);

  function candidates({ path, segments }: RoutedTarget): readonly Pattern[] {
    const exact = plain.get(path);
    const fitting = (byLength.get(segments.length) ?? []).filter(({ parts }) =>
      fits(parts, segments),
    );
    return exact === undefined ? fitting : [exact, ...fitting];
  }

  return {
    withoutExtraSlash(target) {
      if (!target.path.endsWith('/') || target.path === '/' || candidates(target).length > 0) {
        return target;
      }
      const shorter = {
        ...target,
        path: target.path.slice(0, -1),
        segments: target.segments.slice(0, -1),
      };
      return candidates(shorter).length > 0 ? shorter : target;
    },
    match(method, target) {
      // A GET route also serves HEAD (RFC 9110 §9.3.2).
      const wanted = method === 'HEAD' ? 'GET' : method;
      const exact = plain.get(target.path)?.byMethod.get(wanted);
      if (exact !== undefined) {
        return exact;
      }
      const known = candidates(target);
      for (const { byMethod } of known) {
        const found = byMethod.get(wanted);
        if (found !== undefined) {
          return found;
        }
      }
      return known.length === 0 ? undefined : { route: undefined, allow: allowedMethods(known) };
    },
  };
}

/** Two paths with the same shape match the same requests. The names of parameters do not matter. */
export function pathShape(path: string): string {
  return path.replaceAll(/\{[^}]*\}/g, '{}');
}

function splitPath(path: string): readonly string[] {
  return path.slice(1).split('/');
}

function fits(parts: readonly string[], segments: readonly string[]): boolean {
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index];
    const segment = segments[index];
    if (part === '{}' ? segment === '' : part !== segment) {
      return false;
    }
  }
  return true;
}

function allowedMethods(patterns: readonly Pattern[]): readonly string[] {
  const methods = patterns.flatMap(({ byMethod }) => [...byMethod.keys()]);
  return methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}
