import { errors } from 'oidc-provider';
import { readSourceTree } from './source-tree.ts';

/** The errors that the authorization server throws with the library's classes, or writes itself. */
export function ownOauthErrors(): readonly string[] {
  const code = readSourceTree()
    .filter((file) => file.workspace === 'apps/authorization-server' && !file.isTest)
    .map((file) => file.code)
    .join('\n');
  const thrown = [...code.matchAll(/new errors\.([A-Z]\w+)\(/g)].map(([, name = '']) => {
    const Failure = Reflect.get(errors, name) as new (text: string) => { error: string };
    return new Failure('text').error;
  });
  const written = [...code.matchAll(/(?:error: |super\(\d+, |\? |: )'([a-z]+_[a-z_]+)'/g)].map(
    ([, error = '']) => error,
  );
  const known = oauthErrors();
  return [...new Set([...thrown, ...written.filter((error) => known.has(error))])];
}

/** Error → its statuses: those of the library, of an unavailable store and of an internal error. */
export function oauthErrors(): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>([
    ['temporarily_unavailable', new Set(['503'])],
    ['server_error', new Set(['500'])],
    ['too_many_requests', new Set(['429'])],
  ]);
  for (const Failure of Object.values(errors) as unknown as (new (
    text: string,
  ) => object)[]) {
    const failure = new Failure('text') as { error?: string; statusCode?: number };
    if (typeof failure.error === 'string') {
      const statuses = found.get(failure.error) ?? new Set();
      found.set(failure.error, statuses.add(String(failure.statusCode)));
    }
  }
  return found;
}
