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
/** Of the files of the compile cache. Without the flags in the Dockerfile, most of them differ. */
const MAXIMUM_DIFFERENT_SHARE = 0.01;

/** Every file, folder and link that the Dockerfile adds: path, mode, owner, target and digest. */
async function contentsOf(image: string): Promise<readonly string[]> {
  const script = `cd /
    added="./app ./data ./run/gatehouse ./secrets"
    find $added -printf "%p %y %m %u:%g %l\\n" | LC_ALL=C sort
    find $added -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum`;
  const words = ['run', '--rm', '--network', 'none', '--user', '0:0', '--entrypoint', 'sh'];
  const output = await docker(...words, image, '-euc', script);
  return output.split('\n').filter(Boolean);
}

describe('the image', () => {
  let contents: readonly string[];
  beforeAll(async () => {
    contents = await contentsOf('gatehouse:test');
  });

  test('contains the programs, and no tests, data or secrets', () => {
    const paths = contents
      .map((line) => line.split(' ')[0])
      .filter((path) => path?.startsWith('./'));
    for (const path of [
      './apps/authorization-server/src/main.ts',
      './apps/gateway/src/main.ts',
      './apps/gateway/src/explorer/page/index.html',
      './apps/gateway/src/explorer/page/main.ts',
      './apps/device-service/src/main.ts',
      './apps/cli/src/main.ts',
      './scripts/container/make-secrets.ts',
      './package.json',
      './LICENSE',
    ]) {
      expect(paths).toContain(path.replace('./', './app/'));
    }
    const own = paths.filter((path) => !path?.startsWith('./app/node_modules/'));
    const unwanted =
      /\/test\/|\.test\.ts$|^\.\/app\/(?:packages\/testing|bench|docs|data|\.git)\b|\.(?:key|keys|pem|sqlite)$|\.env$/;
    expect(own.filter((path) => unwanted.test(path ?? ''))).toEqual([]);
    expect(
      paths.filter((path) => /^\.\/app\/node_modules\/(?:jest|typescript)\//.test(path ?? '')),
    ).toEqual([]);
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

describe('a second build without a cache', () => {
  afterAll(() => docker('rmi', '--force', secondImage));

  test('has the same files with the same content, modes and owners', async () => {
    const build = ['build', '--quiet', '--no-cache', '--tag', secondImage, '.'];
    await run('docker', build, { cwd: root });
    const [first, second] = [await contentsOf('gatehouse:test'), await contentsOf(secondImage)];
    // A line about content starts with a digest.
    const isCacheContent = (line: string) => /^[0-9a-f]{64} .*\/app\/compiled\//.test(line);
    const others = (lines: readonly string[]) => lines.filter((line) => !isCacheContent(line));
    expect(others(second)).toEqual(others(first));
    expect(others(first).length).toBeGreaterThan(1000);
    const cache = first.filter(isCacheContent);
    expect(cache.length).toBeGreaterThan(1000);
    // V8 writes a few bytes that depend on time (docs/releases.md).
    const again = new Set(second);
    const different = cache.filter((line) => !again.has(line));
    expect(different.length).toBeLessThan(cache.length * MAXIMUM_DIFFERENT_SHARE);
  });
});
