/** What the image contains, and that a second build of the same sources contains the same. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { root } from '../source-tree.ts';
import { docker } from './tier.ts';

jest.setTimeout(300_000);

const run = promisify(execFile);
const secondImage = 'gatehouse:test-again';

/** Every file, folder and link of the image: path, kind, mode, owner, target and digest. */
async function contentsOf(image: string): Promise<readonly string[]> {
  const script = `cd /
    find . -xdev -printf "%p %y %m %u:%g %l\\n" | LC_ALL=C sort
    find . -xdev -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum`;
  const network = ['--network', 'none', '--hostname', 'image'];
  const words = ['run', '--rm', ...network, '--user', '0:0', '--entrypoint', 'sh'];
  const output = await docker(...words, image, '-euc', script);
  return output.split('\n').filter(Boolean);
}

/** User, variables, programs and labels. Compose adds labels to an image that it builds. */
async function settingsOf(image: string): Promise<unknown> {
  const settings = JSON.parse(await docker('inspect', '--format', '{{json .Config}}', image));
  const labels = Object.entries(settings.Labels);
  const own = labels.filter(([name]) => !name.startsWith('com.docker.compose.'));
  return { ...settings, Labels: Object.fromEntries(own) };
}

describe('the image', () => {
  let contents: readonly string[];
  beforeAll(async () => {
    contents = await contentsOf('gatehouse:test');
  });

  test('contains the programs, and no test, development dependency, data or secret', () => {
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
    const isDevelopment = (path: string) => lock.packages[path]?.dev === true;
    expect(isDevelopment('node_modules/typescript')).toBe(true);
    const paths = contents.map((line) => line.split(' ')[0] ?? '');
    const ofApp = paths
      .filter((path) => path.startsWith('./app/'))
      .map((path) => path.replace('./app/', ''));
    expect(ofApp).toEqual(
      expect.arrayContaining([
        ...['authorization-server', 'gateway', 'device-service', 'console', 'cli'].map(
          (app) => `apps/${app}/src/main.ts`,
        ),
        ...['apps/gateway/src/explorer/page/index.html', 'apps/gateway/src/explorer/page/main.ts'],
        ...['scripts/container/make-secrets.ts', 'package.json', 'LICENSE'],
      ]),
    );
    expect(ofApp.filter(isDevelopment)).toEqual([]);
    const added = /^\.\/(?:app|data|run\/gatehouse|secrets)\b(?!\/node_modules\/)/;
    const unwanted =
      /\/test\/|\.test\.ts$|-contract\.ts$|^\.\/app\/(?:packages\/testing|bench|docs|data|coverage|\.git)\b|\.(?:key|keys|pem|sqlite)$|\.env$/;
    expect(paths.filter((path) => added.test(path) && unwanted.test(path))).toEqual([]);
  });

  test('has the labels of the release', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const labels = await docker('inspect', '--format', '{{json .Config.Labels}}', 'gatehouse:test');
    expect(JSON.parse(labels)).toMatchObject({
      'org.opencontainers.image.title': 'Gatehouse',
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': 'Apache-2.0',
    });
  });
});

test('every stage of the build uses the base image that NODE_IMAGE names', () => {
  const stages = readFileSync(join(root, 'Dockerfile'), 'utf8').match(/^FROM .*$/gm) ?? [];
  expect(stages).toHaveLength(4);
  expect(stages.filter((stage) => !/^FROM \$\{NODE_IMAGE\}/.test(stage))).toEqual([]);
});

describe('a second build without a cache', () => {
  afterAll(() => docker('rmi', '--force', secondImage));

  test('has the same settings, and the same files with the same content, modes and owners', async () => {
    const build = ['build', '--quiet', '--no-cache', '--tag', secondImage, '.'];
    await run('docker', build, { cwd: root });
    const images = ['gatehouse:test', secondImage];
    const [first, second] = await Promise.all(images.map(contentsOf));
    const again = new Set(second);
    expect(first?.filter((line) => !again.has(line))).toEqual([]);
    expect(second?.length).toBe(first?.length);
    const compiled = first?.filter((line) => /^[0-9a-f]{64} .*\/app\/compiled\//.test(line));
    expect(compiled?.length).toBeGreaterThan(1000);
    const [settings, settingsAgain] = await Promise.all(images.map(settingsOf));
    expect(settingsAgain).toEqual(settings);
  });
});
