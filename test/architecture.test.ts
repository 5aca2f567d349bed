/**
 * Enforces the dependency directions of docs/architecture.md. Each rule must also report a file
 * that breaks it, so that a broken rule does not pass.
 */
import { describe, expect, test } from '@jest/globals';
import { findViolations, importedWorkspace, rules } from './architecture-rules.ts';
import { findFolderCycles } from './folder-cycles.ts';
import {
  type Manifest,
  readSourceTree,
  readWorkspaces,
  type SourceFile,
  sourceFile,
} from './source-tree.ts';

const files = readSourceTree();
const workspaces = readWorkspaces();

describe('the source', () => {
  test('is found', () => {
    expect(files.length).toBeGreaterThan(100);
    expect(files.flatMap((file) => file.imports).length).toBeGreaterThan(300);
  });

  test.each(rules.map((rule) => [rule.name, rule] as const))('%s', (_name, rule) => {
    expect(findViolations(files, rule)).toEqual([]);
  });
});

describe('the folders', () => {
  test('have no import cycle', () => {
    expect(findFolderCycles(files.filter((file) => !file.isTest))).toEqual([]);
  });

  test('are reported if two of them import each other through different files', () => {
    const found = findFolderCycles([
      sourceFile('apps/a/src/one/x.ts', "import '../two/x.ts';\n"),
      sourceFile('apps/a/src/two/y.ts', "import type { Z } from '../one/deep/z.ts';\n"),
      sourceFile('apps/a/src/one/deep/z.ts', "import '../../three.ts';\n"),
    ]);
    expect(found).toEqual([
      'apps/a/src: one → two → one (see apps/a/src/one/x.ts, apps/a/src/two/y.ts)',
    ]);
  });

  test('are reported if a file and a folder import each other', () => {
    const found = findFolderCycles([
      sourceFile('apps/a/src/one.ts', "import './two/x.ts';\n"),
      sourceFile('apps/a/src/two/y.ts', "import '../one.ts';\n"),
    ]);
    expect(found).toEqual([
      'apps/a/src: one.ts → two → one.ts (see apps/a/src/one.ts, apps/a/src/two/y.ts)',
    ]);
  });
});

const offenders: Readonly<Record<string, readonly [path: string, text: string]>> = {
  'lets no app import an app': [
    'apps/gateway/src/a.ts',
    "import { b } from '../../device-service/src/b.ts';\n",
  ],
  'lets no package import an app': [
    'packages/store/src/a.ts',
    "export { b } from '@gatehouse/gateway';\n",
  ],
  'lets scripts import no app': ['scripts/a.ts', "await import('../apps/gateway/src/main.ts');\n"],
  'lets no relative import leave its workspace': [
    'apps/gateway/src/a.ts',
    "import '../../../packages/store/src/port/store.ts';\n",
  ],
  'keeps express where it belongs': ['apps/gateway/src/app.ts', "import express from 'express';\n"],
  'keeps undici where it belongs': [
    'apps/gateway/src/pipeline/a.ts',
    "import {\n  request,\n} from 'undici';\n",
  ],
  'keeps @opentelemetry where it belongs': [
    'apps/gateway/src/app.ts',
    "import { trace } from '@opentelemetry/api';\n",
  ],
  'keeps ioredis where it belongs': [
    'packages/identity/src/a.ts',
    "import type { Redis } from 'ioredis';\n",
  ],
  'keeps oidc-provider where it belongs': [
    'apps/authorization-server/src/requests/a.ts',
    "import { errors } from 'oidc-provider';\n",
  ],
  'keeps oidc-provider/lib where it belongs': [
    'apps/authorization-server/src/provider/a.ts',
    "import instance from 'oidc-provider/lib/helpers/weak_cache.js';\n",
  ],
  'keeps kysely where it belongs': [
    'apps/device-service/src/http/a.ts',
    "import { sql } from 'kysely';\n",
  ],
  'keeps pg where it belongs': ['apps/device-service/src/http/a.ts', "import pg from 'pg';\n"],
  'keeps node:sqlite where it belongs': [
    'packages/identity/src/a.ts',
    "import { DatabaseSync } from 'node:sqlite';\n",
  ],
  'keeps pino where it belongs': ['apps/gateway/src/a.ts', "import pino from 'pino';\n"],
  'reads process.env in main.ts only': [
    'apps/gateway/src/config.ts',
    '// process.env is read below\nexport const port = process.env.PORT;\n',
  ],
  'keeps the signatures free of Node': [
    'packages/signing/src/a.ts',
    "import { hash } from 'node:crypto';\n",
  ],
  'keeps HTTP out of the device domain': [
    'apps/device-service/src/devices/a.ts',
    "import type { IncomingMessage } from 'node:http';\n",
  ],
  'has no source file over 300 lines': ['packages/store/src/a.ts', '\n'.repeat(301)],
};

describe('every rule', () => {
  test('has an example that breaks it', () => {
    expect(Object.keys(offenders)).toEqual(rules.map((rule) => rule.name));
  });

  test.each(rules.map((rule) => [rule.name, rule] as const))(
    'reports its example: %s',
    (name, rule) => {
      const [path, text] = offenders[name] ?? ['', ''];
      const found = findViolations([sourceFile(path, text)], rule);
      expect(found).toHaveLength(1);
      expect(found[0]).toMatch(new RegExp(`^${path}:\\d+ .+\\. .+`));
    },
  );

  test('does not treat a comment or a text as an import', () => {
    const text = `// import x from 'express';\nconst y = "import z from 'undici'";\n`;
    expect(sourceFile('apps/gateway/src/a.ts', text).imports).toEqual([]);
  });
});

describe('every workspace', () => {
  test.each([...workspaces])(
    '%s names in its package.json exactly what it imports',
    (path, manifest) => {
      expect(manifestProblems(path, manifest)).toEqual([]);
    },
  );

  test('is free of import cycles between packages', () => {
    const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
      [...ownImports(from)].some((name) => {
        const next = `packages/${name}`;
        if (next === to) {
          return true;
        }
        return !seen.has(next) && reaches(next, to, seen.add(next));
      });
    expect([...workspaces.keys()].filter((path) => reaches(path, path))).toEqual([]);
  });

  test.each(['errors', 'device-api', 'store'])(
    '%s imports no other package of Gatehouse',
    (name) => {
      expect([...ownImports(`packages/${name}`)]).toEqual([]);
    },
  );
});

/** The names of Gatehouse packages that the source of a workspace imports, without its tests. */
function ownImports(workspace: string): ReadonlySet<string> {
  const targets = filesOf(workspace)
    .filter((file) => isProductCode(file, workspace))
    .flatMap((file) => file.imports.map(({ specifier }) => importedWorkspace(file, specifier)))
    .filter((target) => target?.startsWith('packages/') && target !== workspace);
  return new Set(targets.map((target) => String(target).slice('packages/'.length)));
}

function manifestProblems(workspace: string, manifest: Manifest): readonly string[] {
  const { dependencies = {}, devDependencies = {} } = manifest;
  const product = externalImports(
    filesOf(workspace).filter((file) => isProductCode(file, workspace)),
  );
  const all = externalImports(filesOf(workspace));
  const problems: string[] = [];
  // Production installs omit packages/testing and must omit its libraries. The build of a published
  // package includes what it imports.
  const isBuilt = manifest.private !== true;
  const named = workspace === 'packages/testing' || isBuilt ? devDependencies : dependencies;
  for (const [name, place] of product) {
    if (named[name] === undefined) {
      problems.push(`${place} imports ${name}, which ${workspace}/package.json does not name`);
    }
  }
  for (const name of Object.keys(dependencies)) {
    if (!product.has(name)) {
      problems.push(
        `${workspace}/package.json names ${name} in dependencies; no source imports it`,
      );
    }
  }
  for (const name of Object.keys(devDependencies)) {
    if (!all.has(name.replace(/^@types\//, ''))) {
      problems.push(
        `${workspace}/package.json names ${name} in devDependencies; nothing imports it`,
      );
    }
  }
  for (const [name, place] of all) {
    const isOurs = name.startsWith('@gatehouse/');
    if (isOurs && name !== manifest.name && !(name in { ...dependencies, ...devDependencies })) {
      problems.push(`${place} imports ${name}, which ${workspace}/package.json does not name`);
    }
  }
  return problems;
}

function filesOf(workspace: string): readonly SourceFile[] {
  return files.filter((file) => file.workspace === workspace);
}

/** Every file of packages/testing is for tests, so its source counts as product code here. */
function isProductCode(file: SourceFile, workspace: string): boolean {
  return !file.isTest || workspace === 'packages/testing';
}

/** Package name → the first place that imports it. */
function externalImports(among: readonly SourceFile[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const file of among) {
    for (const { specifier, line } of file.imports) {
      const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
      if (!/^(?:\.|node:)/.test(specifier) && !found.has(name)) {
        found.set(name, `${file.path}:${line}`);
      }
    }
  }
  return found;
}
