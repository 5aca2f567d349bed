/** Enforces the dependency directions of docs/architecture.md. */
import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { readSourceTree, root, type SourceFile } from './source-tree.ts';

const files = readSourceTree();
const product = files.filter((file) => !file.isTest);
const server = 'apps/authorization-server/src';
const service = 'apps/device-service/src';
const consoleApp = 'apps/console/src';
const inFolders = (root: string, names: string) =>
  names.split(' ').map((name) => `${root}/${name}`);

/** Library → the only folders and files of product code that may import it, and the reason. */
const confinements: readonly (readonly [module: string, places: readonly string[], why: string])[] =
  [
    [
      'express',
      [
        ...inFolders(
          server,
          'app.ts account/ mail/compose.ts pages/ requests/ sign-in/ signed-out/ throttle/ token/',
        ),
        ...inFolders(
          consoleApp,
          'api/messages.ts api/serve-api.ts app.ts frame/ session/cookies.ts view/languages.ts view/assets.ts',
        ),
      ],
      'domain code and screens never see Request or Response; the other servers use node:http',
    ],
    [
      'nodemailer',
      [`${server}/mail/mailer.ts`],
      'every certificate is verified, and every address is one address',
    ],
    [
      'undici',
      ['apps/gateway/src/upstream/', `${server}/guarded-fetch.ts`],
      'no request bypasses the header and retry policy, or the check of addresses that clients declare',
    ],
    [
      '@opentelemetry',
      ['packages/server/src/telemetry/open-telemetry-tracer.ts'],
      'tracing that is off costs nothing',
    ],
    [
      'openid-client',
      [`${server}/upstream/clients.ts`, `${consoleApp}/session/issuer.ts`],
      'all requests to upstream providers go through the guarded fetch, those of the console to its issuer',
    ],
    ['ioredis', ['packages/store/src/redis/'], 'Redis is one engine of the Store port'],
    [
      'oidc-provider',
      inFolders(server, 'app.ts account/ outcomes/ pages/ provider/ sign-in/ throttle/ token/'),
      'provider/ configures the library, token/ extends it, app.ts opens it, outcomes/ reports its events, and the pages answer for it',
    ],
    [
      'oidc-provider/lib',
      [`${server}/provider/patches.ts`],
      'one file reaches inside the library (docs/decisions/09-oidc-provider-patches.md)',
    ],
    [
      'kysely',
      inFolders(service, 'database/ devices/ logs/ query/ products.ts tags.ts'),
      'the HTTP edge never sees SQL',
    ],
    [
      '@simplewebauthn/server',
      [`${server}/account/passkey-ceremony.ts`],
      'it is loaded for the first passkey, and never sees certificates',
    ],
    ['pg', [`${service}/database/`], 'one folder talks to PostgreSQL'],
    [
      'node:sqlite',
      ['packages/store/src/sqlite/', `${service}/database/`],
      'only the port leads to an engine',
    ],
    ['pino', ['packages/server/src/telemetry/logger.ts'], 'one redaction'],
  ];

const isOf = (module: string) => (specifier: string) =>
  specifier === module || specifier.startsWith(`${module}/`);

describe('an external library', () => {
  test.each(confinements)('%s is imported only in %j: %s', (module, places) => {
    const importers = product.filter(({ imports }) => imports.some(isOf(module)));
    // An importer shows that the test finds imports of this library.
    expect(importers.length).toBeGreaterThan(0);
    expect(importers.filter(({ path }) => !places.some((place) => path.startsWith(place)))).toEqual(
      [],
    );
  });

  test('is named in the package.json of the workspace that imports it', () => {
    const problems = manifests().flatMap(([workspace, manifest]) => {
      const { dependencies = {}, devDependencies = {} } = manifest;
      const ownTests = workspace === 'packages/testing' || manifest.private !== true;
      const named = ownTests ? devDependencies : dependencies;
      const names = (among: readonly SourceFile[]) =>
        new Set(
          among
            .filter((file) => file.workspace === workspace)
            .flatMap(({ imports }) => imports)
            .filter((specifier) => !/^(?:\.|node:)/.test(specifier))
            .map((specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? ''),
        );
      const ofProduct = names(workspace === 'packages/testing' ? files : product);
      const ofAll = names(files);
      return [
        ...[...ofProduct].filter((name) => !(name in named)).map((name) => `lacks ${name}`),
        ...Object.keys(dependencies).filter((name) => !ofProduct.has(name)),
        ...Object.keys(devDependencies).filter((name) => !ofAll.has(name.replace('@types/', ''))),
      ].map((problem) => `${workspace}/package.json: ${problem}`);
    });
    expect(problems).toEqual([]);
  });
});

describe('a workspace', () => {
  const crossings = files.flatMap((file) =>
    file.imports.flatMap((specifier) => {
      const target = workspaceOf(file, specifier);
      return target === undefined || target === file.workspace ? [] : [{ file, specifier, target }];
    }),
  );

  test('that is an app is imported by no workspace and no script', () => {
    const importers = crossings.filter(
      ({ file, target }) =>
        target.startsWith('apps/') &&
        (file.workspace !== undefined || file.path.startsWith('scripts/')) &&
        file.path !== 'scripts/generate-docs.ts',
    );
    expect(importers.map(({ file, specifier }) => `${file.path}: ${specifier}`)).toEqual([]);
  });

  test('is imported by name, through its public face', () => {
    const relative = crossings.filter(
      ({ file, specifier }) => specifier.startsWith('.') && file.workspace !== undefined,
    );
    expect(relative.map(({ file, specifier }) => `${file.path}: ${specifier}`)).toEqual([]);
  });

  test('is in no import cycle', () => {
    const edges = crossings.filter(({ file }) => !file.isTest && file.workspace !== undefined);
    expect(cyclesOf(edges.map(({ file, target }) => [String(file.workspace), target]))).toEqual([]);
  });

  test.each(['errors', 'device-api', 'store'])('%s imports no other one', (name) => {
    const own = crossings.filter(
      ({ file }) => !file.isTest && file.workspace === `packages/${name}`,
    );
    expect(own.map(({ target }) => target)).toEqual([]);
  });
});

test('the folders have no import cycle, even of types', () => {
  const byFolder = new Map<string, [string, string][]>();
  for (const { path, imports } of product) {
    for (const specifier of imports.filter((each) => each.startsWith('.'))) {
      const from = path.split('/');
      const to = posix.join(posix.dirname(path), specifier).split('/');
      const depth = from.findIndex((name, index) => name !== to[index]);
      const folder = from.slice(0, depth).join('/');
      const edges = byFolder.get(folder) ?? [];
      byFolder.set(folder, [...edges, [from[depth] ?? '', to[depth] ?? '']]);
    }
  }
  // The linter finds cycles of files.
  const cycles = [...byFolder].flatMap(([folder, edges]) =>
    cyclesOf(edges)
      .filter((cycle) => cycle.some((entry) => !entry.includes('.')))
      .map((cycle) => `${folder}: ${cycle.join(' → ')}`),
  );
  expect(cycles).toEqual([]);
  expect(
    cyclesOf([
      ['one', 'two'],
      ['two', 'three'],
      ['three', 'one'],
    ]),
  ).toHaveLength(3);
});

test('process.env is read in main.ts only', () => {
  const allowed =
    /^scripts\/|^apps\/[^/]+\/src\/main\.ts$|^packages\/server\/src\/telemetry\/tracer\.ts$/;
  const readers = product.filter(
    ({ path, code }) => !allowed.test(path) && /\bprocess\s*\.\s*env\b|\bprocess\s*\[/.test(code),
  );
  expect(readers.map(({ path }) => path)).toEqual([]);
});

test('the signatures are free of Node, because the same code signs in a browser', () => {
  const core = product.filter(({ path }) => /^packages\/signing\/src\/(?!reading\/)/.test(path));
  expect(core.length).toBeGreaterThan(5);
  const found = core.filter(
    ({ code, imports }) =>
      /\b(?:Buffer|process|require|__dirname)\b/.test(code) ||
      imports.some((specifier) => !/^\.\.?\/|^@gatehouse\/errors$/.test(specifier)),
  );
  expect(found.map(({ path }) => path)).toEqual([]);
});

test('HTTP is not in the device domain', () => {
  const domain = new RegExp(`^${service}/(?:(?:devices|logs)/(?!http\\.ts)|query/|database/)`);
  const found = product.filter(
    ({ path, imports }) =>
      domain.test(path) &&
      imports.some((specifier) => specifier === 'node:http' || specifier.includes('/http/')),
  );
  expect(found.map(({ path }) => path)).toEqual([]);
});

test('no source file has more than 300 lines, except the texts of a language', () => {
  const files = product.filter(({ path }) => !/\/(?:pages|view)\/texts-/.test(path));
  expect(files.filter(({ lineCount }) => lineCount > 300).map(({ path }) => path)).toEqual([]);
});

function workspaceOf(file: SourceFile, specifier: string): string | undefined {
  if (specifier.startsWith('.')) {
    const target = posix.join(posix.dirname(file.path), specifier);
    return /^(?:apps|packages)\/[^/]+/.exec(target)?.[0];
  }
  const name = /^@gatehouse\/([^/]+)/.exec(specifier)?.[1];
  const isApp = /^(?:authorization-server|cli|console|gateway|device-service)$/.test(name ?? '');
  return name === undefined ? undefined : `${isApp ? 'apps' : 'packages'}/${name}`;
}

interface Manifest {
  readonly private?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

function manifests(): readonly (readonly [workspace: string, manifest: Manifest])[] {
  return globSync('{apps,packages}/*/package.json', { cwd: root }).map((path) => [
    posix.dirname(path.replaceAll('\\', '/')),
    JSON.parse(readFileSync(join(root, path), 'utf8')),
  ]);
}

/** For each entry that reaches itself, a shortest path. */
function cyclesOf(edges: readonly (readonly [from: string, to: string])[]) {
  return [...new Set(edges.map(([from]) => from))].flatMap((start) => {
    const paths: string[][] = [[start]];
    const seen = new Set<string>();
    for (const path of paths) {
      for (const [from, to] of edges) {
        if (from === path.at(-1) && to === start) {
          return [[...path, start]];
        }
        if (from === path.at(-1) && !seen.has(to)) {
          seen.add(to);
          paths.push([...path, to]);
        }
      }
    }
    return [];
  });
}
