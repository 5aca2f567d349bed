/**
 * Checks that everything that documents point to exists: linked files and headings, files in
 * backticks, and npm scripts. Checks the same for the addresses of documents in code and in
 * settings, which replies and messages name.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { scripts } = JSON.parse(read('package.json'));

const documents = globSync('{*.md,{docs,bench,examples,packages,test}/**/*.md}', {
  cwd: root,
  exclude: (path) => path.includes('node_modules'),
});
const code = globSync(
  '{Dockerfile,*.yml,.env.example,{apps,packages,scripts,bench,test,deploy,containers,examples}/**/*.{ts,mjs,c,h,go,py,php,java,sql,conf,cfg,lua,yml,yaml,ini}}',
  { cwd: root, exclude: (path) => path.includes('node_modules') },
);

const problems = [...documents.flatMap(problemsOfDocument), ...code.flatMap(problemsOfCode)];
console.error(problems.join('\n'));
process.exitCode = problems.length === 0 ? 0 : 1;

function problemsOfDocument(path: string): readonly string[] {
  const text = read(path);
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .filter((target) => !isAddress(path, target));
  const files = [...text.matchAll(/`((?:apps|packages|scripts|test|docs|examples)\/[^`\s*{}…]*)`/g)]
    .map(([, named = '']) => named)
    .filter((named) => !existsSync(join(root, named)));
  const commands = [...text.matchAll(/\bnpm run (?:-s )?([a-z][a-z:-]*)/g)]
    .map(([, name = '']) => name)
    .filter((name) => path !== 'packages/client/README.md' && !(name in scripts));
  return [...links, ...files, ...commands].map((each) => `${path}: ${each} does not exist.`);
}

function problemsOfCode(path: string): readonly string[] {
  return [...read(path).matchAll(/\bdocs\/[a-z0-9/-]+\.md(?:#[a-z0-9_-]+)?/g)]
    .map(([address]) => address)
    .filter((address) => !isAddress('README.md', address))
    .map((address) => `${path}: ${address} does not exist.`);
}

/** Whether a link of a page leads to a file and, if it names one, to a heading. */
function isAddress(page: string, link: string): boolean {
  const [target = '', anchor] = link.split('#', 2);
  const path = target === '' ? page : join(dirname(page), target);
  if (!existsSync(join(root, path))) {
    return false;
  }
  return anchor === undefined || !path.endsWith('.md') || anchorsOf(path).has(anchor);
}

/** The anchors that GitHub generates for the headings of a page. */
function anchorsOf(path: string): ReadonlySet<string> {
  return new Set(
    [...read(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
