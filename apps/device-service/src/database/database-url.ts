/** Where the devices are kept. PostgreSQL becomes a second member of this union. */
export interface DatabaseLocation {
  readonly engine: 'sqlite';
  readonly path: string;
}

const SQLITE_URL = /^sqlite:(?:\/\/(?=\/))?(?<path>[^?#]+)$/;

/**
 * Reads `DATABASE_URL`: `sqlite:` and a path, relative to the working directory or absolute
 * (`sqlite:/var/lib/devices.sqlite` and `sqlite:///var/lib/devices.sqlite` are the same file).
 */
export function parseDatabaseUrl(url: string): DatabaseLocation | { readonly problem: string } {
  if (/^postgres(ql)?:/i.test(url)) {
    return { problem: 'PostgreSQL is not supported yet: use sqlite:<path of the file>' };
  }
  const path = SQLITE_URL.exec(url)?.groups?.path;
  if (path === undefined || path.startsWith('//') || path.endsWith('/')) {
    return { problem: 'must be sqlite:<path of the file>' };
  }
  if (path === ':memory:') {
    return { problem: 'must name a file: a database in memory loses every device' };
  }
  return { engine: 'sqlite', path };
}
