/** Addresses within the console. */

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
