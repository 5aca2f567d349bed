import { globSync } from 'node:fs';
import { readDocument, section } from './documents.ts';
import { root } from './source-tree.ts';

/**
 * A line without indentation that names a folder starts a part. Indented lines name the folders in
 * it.
 */
export function foldersOfLayout(): readonly string[] {
  let part = '';
  return section(readDocument('docs/architecture.md'), 'Layout')
    .split('\n')
    .flatMap((line) => {
      const [, outer] = /^([a-z-]+(?:\/[a-z-]+)*\/)(?: |$)/.exec(line) ?? [];
      part = outer ?? part;
      const [, names = ''] = /^ {2}((?:[a-z0-9-]+\/ )+)/.exec(`${line} `) ?? [];
      const inner = names.split(' ').filter((name) => name !== '');
      return outer === undefined ? inner.map((name) => part + name) : [outer];
    });
}

const NOT_SOURCE = new Set(['node_modules/', 'data/', 'coverage/']);

export function foldersOfSource(): readonly string[] {
  const folders = (pattern: string) =>
    globSync(pattern, { cwd: root }).map((path) => `${path.replaceAll('\\', '/')}/`);
  return [
    ...folders('*/').filter((path) => !NOT_SOURCE.has(path) && path !== 'apps/'),
    ...folders('apps/*/src/'),
    ...folders('apps/*/src/*/'),
    ...['packages', 'scripts', 'test', 'docs'].flatMap((part) => folders(`${part}/*/`)),
  ];
}
