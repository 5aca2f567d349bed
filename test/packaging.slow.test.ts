/** The package and the bill of materials contain what runs, and nothing else. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { root } from './source-tree.ts';

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
};
const run = (...words: readonly string[]) =>
  JSON.parse(execFileSync('npm', words, { cwd: root, encoding: 'utf8', stdio: 'pipe' }));

describe('npm pack', () => {
  const [packed] = run('pack', '--dry-run', '--json', '--ignore-scripts') as [
    { readonly version: string; readonly files: readonly { readonly path: string }[] },
  ];
  const paths = packed.files.map(({ path }) => path);

  test('contains the apps, their packages, the documentation and the license', () => {
    expect(packed.version).toBe(version);
    const apps = ['authorization-server', 'gateway', 'device-service', 'cli'];
    const needed = [
      ...apps.flatMap((app) => [`apps/${app}/src/main.ts`, `apps/${app}/package.json`]),
      ...['packages/store/src/index.ts', 'scripts/launch.mjs', 'scripts/start.ts'],
      ...['docs/architecture.md', 'deploy/kubernetes/base/kustomization.yaml'],
      ...['deploy/monitoring/alerts.yml', 'containers/nginx.conf', 'docker-compose.yml'],
      ...['Dockerfile', 'CHANGELOG.md', 'SECURITY.md', 'LICENSE'],
    ];
    expect(needed.filter((path) => !paths.includes(path))).toEqual([]);
  });

  test('contains no tests, no data and no file that can hold a secret', () => {
    const unwanted =
      /(^|\/)test\/|\.test\.ts$|-contract\.ts$|^packages\/testing\/|^bench\/|^data\/|^\.ci\/|^node_modules\/|\.(?:key|keys|pem|sqlite|tgz)$|(^|\/)(?:\.env|bootstrap\.json|demo\.json)$/;
    expect(paths.filter((path) => unwanted.test(path))).toEqual([]);
  });
});

test('the bill of materials lists what runs, and no tool of developers', () => {
  const bill = run('run', '-s', 'sbom') as {
    readonly bomFormat: string;
    readonly metadata: { readonly component: unknown };
    readonly components: readonly {
      readonly name: string;
      readonly group?: string;
      readonly version: string;
      readonly purl: string;
    }[];
  };
  expect(bill.bomFormat).toBe('CycloneDX');
  // npm names the folder of the source here.
  expect(bill.metadata.component).toMatchObject({ name: 'gatehouse', version });
  const names = bill.components.map(({ group, name }) =>
    group === undefined ? name : `${group}/${name}`,
  );
  expect(names).toEqual(expect.arrayContaining(['oidc-provider', 'ioredis', 'pg', 'undici']));
  expect(names.filter((name) => /^(?:jest|typescript|playwright-core|cspell)$/.test(name))).toEqual(
    [],
  );
  expect(bill.components.filter(({ purl }) => !purl.startsWith('pkg:npm/'))).toEqual([]);
});
