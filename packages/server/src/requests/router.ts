/**
 * The one router of the gateway, the device service and the management API: method and path → entry, in one look-up.
 *
 *   const router = createRouter(entries);      // each with a `method` and a `path` such as /device/{id}
 *   const match = router.find('GET', target);
 *   match === undefined                        // no entry has this path: 404
 *   match.entry === undefined                  // allowedMethods(match.others): 405, or OPTIONS
 *
 * The apps decide who may call an entry, and write the errors.
 */
import { ApiError } from '@gatehouse/errors';

interface RouterEntry {
  readonly method: string;
  /** `{name}` matches one segment that is not empty. */
  readonly path: string;
}

/** The part of a request target that decides its entry. */
export interface RoutedTarget {
  /** Normalized by the app: paths with equal segments must be equal texts. */
  readonly path: string;
  /** `/device/` has the segments `device` and an empty one. */
  readonly segments: readonly string[];
}

export type RouterMatch<Entry> =
  | { readonly entry: Entry }
  /** The path is known, but not with this method. */
  | { readonly entry: undefined; readonly others: readonly Entry[] };

export type Router<Entry extends RouterEntry> = ReturnType<typeof createRouter<Entry>>;

interface Pattern<Entry> {
  readonly parts: readonly string[];
  readonly byMethod: Map<string, { readonly entry: Entry }>;
}

/**
 * Compares paths by segment: case matters, and so does a trailing slash. A path without a parameter
 * takes precedence. Otherwise the first entry counts.
 *
 * @param options.plainPathsHideOthers `/device/_count` never matches `/device/{id}`, whatever the method
 */
export function createRouter<Entry extends RouterEntry>(
  entries: readonly Entry[],
  { plainPathsHideOthers = false }: { readonly plainPathsHideOthers?: boolean } = {},
) {
  const plain = new Map<string, Pattern<Entry>>();
  const patterns = new Map<string, Pattern<Entry>>();
  for (const entry of entries) {
    const shape = pathShape(entry.path);
    const shapes = shape.includes('{}') ? patterns : plain;
    const pattern = shapes.get(shape) ?? { parts: shape.slice(1).split('/'), byMethod: new Map() };
    pattern.byMethod.set(entry.method, { entry });
    shapes.set(shape, pattern);
  }
  const byLength = Map.groupBy(patterns.values(), ({ parts }) => parts.length);

  function candidates({ path, segments }: RoutedTarget): readonly Pattern<Entry>[] {
    const exact = plain.get(path);
    if (exact !== undefined && plainPathsHideOthers) {
      return [exact];
    }
    const fitting = (byLength.get(segments.length) ?? []).filter(({ parts }) =>
      fits(parts, segments),
    );
    return exact === undefined ? fitting : [exact, ...fitting];
  }

  return {
    find(method: string, target: RoutedTarget): RouterMatch<Entry> | undefined {
      // A GET entry also serves HEAD (RFC 9110 §9.3.2).
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
      const others = known.flatMap(({ byMethod }) =>
        [...byMethod.values()].map(({ entry }) => entry),
      );
      return known.length === 0 ? undefined : { entry: undefined, others };
    },
  };
}

/**
 * The decoded segments by the names of their parameters.
 *
 * @param segments of the whole target
 * @throws ApiError `illegal_argument` for an invalid percent-encoding
 */
export function pathParameters(
  { path }: Pick<RouterEntry, 'path'>,
  segments: readonly string[],
): Readonly<Record<string, string>> {
  const parts = path.slice(1).split('/');
  const named = parts.flatMap((part, index) =>
    part.startsWith('{') ? [[part.slice(1, -1), segments[index] ?? ''] as const] : [],
  );
  try {
    return Object.fromEntries(named.map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch (cause) {
    const message = 'The path has an invalid percent-encoding.';
    throw new ApiError('illegal_argument', { message, cause, reason: 'target_invalid' });
  }
}

/** For `Allow`, without OPTIONS. */
export function allowedMethods(others: readonly RouterEntry[]): readonly string[] {
  const methods = new Set(others.map(({ method }) => method));
  return [...methods].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}

/** Two paths with the same shape match the same requests. The names of parameters do not matter. */
export function pathShape(path: string): string {
  return path.replaceAll(/\{[^}]*\}/g, '{}');
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
