/** Everything that a document names exists in the code, and lists in documents are complete. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { routes as deviceApiRoutes, operations } from '@gatehouse/device-api';
import { errorCatalogue } from '@gatehouse/errors';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { bootstrapSchema } from '../packages/identity/src/bootstrap/bootstrap-schema.ts';
import {
  firstName,
  headingAnchors,
  namedNpmScripts,
  namedPaths,
  namedRoutes,
  readDocument,
  readDocuments,
  relativeAnchors,
  relativeLinks,
  section,
  tableRows,
} from './documents.ts';
import { failureReasonsDocument } from './failure-reasons-document.ts';
import { foldersOfLayout, foldersOfSource } from './layout.ts';
import { oauthErrors, ownOauthErrors } from './oauth-errors.ts';
import { namesOfCommands } from './operators-commands.ts';
import { variablesOfApps, variablesOfContainers, variablesOfScripts } from './read-variables.ts';
import { isServed, readServedRoutes, type ServedRoute } from './served-routes.ts';
import { readSourceTree, root } from './source-tree.ts';

const documents = readDocuments().filter(({ path }) => path !== 'CHANGELOG.md');
const configuration = readDocument('docs/configuration.md');
const architecture = readDocument('docs/architecture.md');
const errorsPage = readDocument('docs/errors.md');
let routes: readonly ServedRoute[];

beforeAll(async () => {
  routes = await readServedRoutes();
});

describe.each(documents.map((document) => [document.path, document] as const))(
  '%s',
  (path, document) => {
    test('links to existing files', () => {
      const broken = relativeLinks(document).filter(
        (target) => !existsSync(join(root, dirname(path), target)),
      );
      expect(broken).toEqual([]);
    });

    test('links to headings that exist', () => {
      const broken = relativeAnchors(document).filter(({ target, anchor }) => {
        const page = target === '' ? path : join(dirname(path), target);
        return page.endsWith('.md') && !headingAnchors(readDocument(page)).has(anchor);
      });
      expect(broken).toEqual([]);
    });

    test('names files and folders that exist', () => {
      expect(namedPaths(document).filter((named) => !existsSync(join(root, named)))).toEqual([]);
    });

    test('names npm scripts that exist', () => {
      const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
      expect(namedNpmScripts(document).filter((name) => !(name in scripts))).toEqual([]);
    });

    test('names routes that are served', () => {
      // Its examples are requests that fail.
      if (path === failureReasonsDocument) {
        return;
      }
      expect(namedRoutes(document).filter((named) => !isServed(named, routes))).toEqual([]);
    });
  },
);

test('README.md states figures of the benchmark results.', () => {
  const [, figures = ''] =
    /\*\*How fast is it\?\*\*([\s\S]*?)\n\n(?!-)/.exec(readDocument('README.md').text) ?? [];
  const numbers = (text: string) => text.match(/(?<![\w.,])\d[\d,.]*\d(?![\w,])/g) ?? [];
  const measured = new Set(numbers(readDocument('bench/RESULTS.md').text));
  expect(numbers(figures).length).toBeGreaterThan(5);
  expect(numbers(figures).filter((figure) => !measured.has(figure))).toEqual([]);
});

describe('docs/architecture.md', () => {
  const rows = tableRows(architecture, 'Routes');
  const isDeviceRoute = (method: string, path: string) =>
    deviceApiRoutes.some((each) => each.path === path && ['*', each.method].includes(method));

  test('lists every route that is served, except those of the device API', () => {
    const listed = rows.flatMap(({ cells }) =>
      [...(cells[0] ?? '').matchAll(/`([A-Z]+) (\/[^`]*)`/g)].map(([, method = '', path = '']) => [
        method,
        path,
      ]),
    );
    const isListed = (method: string, path: string) =>
      listed.some(([m, p]) => p === path && (method === '*' || method === m));
    const missing = routes.flatMap(({ methods, path }) =>
      (methods === 'any' ? ['*'] : methods)
        .filter((method) => !isListed(method, path) && !isDeviceRoute(method, path))
        .map((method) => `${method} ${path}`),
    );
    expect(missing).toEqual([]);
  });

  test('lists every operation of the device API with its first route and the number of others', () => {
    const expected = operations.map(({ name, scope }) => {
      const [first, ...others] = deviceApiRoutes.filter((each) => each.operation.name === name);
      const routesWord = others.length === 1 ? 'route' : 'routes';
      const more = others.length === 0 ? '' : `, and ${others.length} equivalent ${routesWord}`;
      return [`\`${first?.method} ${first?.path}\`${more}`, `\`${name}\`, scope \`${scope}\``];
    });
    const listed = rows
      .filter(({ cells: [, server] }) => server === 'gateway → device service')
      .map(({ cells: [route = '', , purpose = ''] }) => [route, purpose]);
    expect(listed.sort()).toEqual(expected.sort());
  });

  test('has every folder in its layout, and no other', () => {
    expect([...foldersOfLayout()].sort()).toEqual([...foldersOfSource()].sort());
  });

  test('names every folder inside the source of a package at the package', () => {
    // The text of a package can continue on further lines, which are indented more.
    const lines = section(architecture, 'Layout')
      .replaceAll(/\n {4,}/g, ' ')
      .split('\n');
    const missing = globSync('packages/*/src/*/', { cwd: root }).filter((path) => {
      const [, name, , folder] = path.split('/');
      const line = lines.find((each) => each.startsWith(`  ${name}/ `)) ?? '';
      return !line.includes(`${folder}/`);
    });
    expect(missing).toEqual([]);
  });
});

describe('docs/security.md', () => {
  test('names a test for each promise', () => {
    const promises = readDocument('docs/security.md').text.split('\n### ').slice(1);
    const untested = promises
      .map((promise) => promise.split('\n## ', 1)[0] ?? '')
      .filter((promise) => !/^- \*\*Test:\*\* `[^`]+\.test\.ts`/m.test(promise))
      .map((promise) => promise.split('\n', 1)[0]);
    expect(promises.length).toBeGreaterThan(30);
    expect(untested).toEqual([]);
  });
});

describe('docs/errors.md', () => {
  test('has exactly the codes and statuses of the catalog', () => {
    const stated = tableRows(errorsPage, 'Platform API').map((row) => [
      firstName(row),
      row.cells[1],
    ]);
    const actual = Object.entries(errorCatalogue).map(([code, { status }]) => [code, `${status}`]);
    expect(Object.fromEntries(stated)).toEqual(Object.fromEntries(actual));
    expect(stated).toHaveLength(actual.length);
  });

  test('has a cause, a fix and an example for each error', () => {
    const rows = [
      ...tableRows(errorsPage, 'Platform API').map(({ cells }) => [cells[0], ...cells.slice(2)]),
      ...tableRows(errorsPage, 'OAuth 2.0 endpoints').map(({ cells }) => [
        cells[0],
        ...cells.slice(3),
      ]),
    ];
    const incomplete = rows.filter(
      ([, cause = '', fix = '', example = '']) =>
        cause.length < 10 || fix.length < 5 || example.length < 5,
    );
    expect(rows.length).toBeGreaterThan(40);
    expect(incomplete).toEqual([]);
  });

  test('names OAuth errors that exist, with their status', () => {
    const known = oauthErrors();
    const wrong = tableRows(errorsPage, 'OAuth 2.0 endpoints').filter((row) => {
      const statuses = known.get(firstName(row));
      return (
        statuses === undefined || !(row.cells[1] === '302' || statuses.has(row.cells[1] ?? ''))
      );
    });
    expect(wrong).toEqual([]);
  });

  test('names every OAuth error that Gatehouse sends', () => {
    const stated = new Set(tableRows(errorsPage, 'OAuth 2.0 endpoints').map(firstName));
    expect(ownOauthErrors().filter((code) => !stated.has(code))).toEqual([]);
  });
});

describe('docs/configuration.md', () => {
  const stated = configuration.text
    .split('\n')
    .map((line) => /^\| `([A-Z][A-Z0-9_]+)` \|/.exec(line)?.[1])
    .filter((name) => name !== undefined);

  test('has exactly the variables that apps, scripts and containers read', async () => {
    const read = new Set([
      ...(await variablesOfApps()),
      ...variablesOfScripts(),
      ...variablesOfContainers(),
    ]);
    expect([...stated].sort()).toEqual([...read].sort());
  });

  test('has the variables of .env.example, in its order', () => {
    const example = readFileSync(join(root, '.env.example'), 'utf8');
    const names = [...example.matchAll(/^# ([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name);
    expect(names).toEqual(stated);
  });

  test('shows a valid bootstrap file', () => {
    const json = /```json\n([\s\S]*?)```/.exec(section(configuration, 'Bootstrap file'))?.[1] ?? '';
    const withSecrets = json
      .replace('"secureKeyFile": "web.key"', '"secureKey": "aQ3xV7mK9pT2wZ5r"')
      .replace('"passwordFile": "alice.password"', '"password": "a good password"');
    expect(bootstrapSchema.safeParse(JSON.parse(withSecrets)).error?.issues).toBeUndefined();
  });
});

describe('docs/operations', () => {
  test('has no named block of commands that no test runs', () => {
    const tests = readSourceTree()
      .filter(({ isTest }) => isTest)
      .map(({ code }) => code)
      .join('\n');
    expect(namesOfCommands().filter((name) => !tests.includes(`'${name}'`))).toEqual([]);
  });
});

describe('docs/decisions', () => {
  const pages = documents.filter(({ path }) => /^docs\/decisions\/\d/.test(path));

  test('are numbered without a gap, and all in the index', () => {
    const numbers = pages.map(({ path }) =>
      Number(path.slice('docs/decisions/'.length).slice(0, 4)),
    );
    expect(numbers).toEqual(pages.map((_page, index) => index + 1));
    const indexed = relativeLinks(readDocument('docs/decisions/README.md'));
    expect(indexed).toEqual(pages.map(({ path }) => path.slice('docs/decisions/'.length)));
  });

  test('each have context, decision, why and consequences', () => {
    const incomplete = pages.filter(({ text }) => {
      const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
      return headings.join() !== 'Context,Decision,Why,Consequences';
    });
    expect(incomplete.map(({ path }) => path)).toEqual([]);
  });

  test('each have a date and a status', () => {
    const status = /^# \d+\. .+\n\nDate: \d{4}-\d\d-\d\d\n\nStatus: (?:accepted|superseded)\b/;
    expect(pages.filter(({ text }) => !status.test(text)).map(({ path }) => path)).toEqual([]);
  });

  test('have a row for each of the 46 defaults of oidc-provider', () => {
    const rows = tableRows(
      readDocument('docs/decisions/0010-oidc-provider-defaults.md'),
      'Decision',
    );
    expect(rows.map(({ cells }) => Number(cells[0]))).toEqual(
      Array.from({ length: 46 }, (_value, index) => index + 1),
    );
  });

  test('name files of the authorization server that exist', () => {
    const { text } = readDocument('docs/decisions/0010-oidc-provider-defaults.md');
    const missing = [...text.matchAll(/`((?:[a-z-]+\/)?[a-z-]+\.ts|[a-z-]+\/)`/g)]
      .map(([, path = '']) => path)
      .filter((path) => !/^(?:token\.test)/.test(path) && path !== 'token.test.ts')
      .filter((path) => !existsSync(join(root, 'apps/authorization-server/src', path)));
    expect(missing).toEqual([]);
  });
});
