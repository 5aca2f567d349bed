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
const again = 'gatehouse:test-again';

/** Path, mode, owner and digest of every file under /app. */
async function contentsOf(image: string): Promise<readonly string[]> {
  const script =
    'cd /app && find . -type f -printf "%p %m %u:%g\\n" | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum';
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
      expect(paths).toContain(path);
    }
    const own = paths.filter((path) => !path?.startsWith('./node_modules/'));
    const unwanted =
      /\/test\/|\.test\.ts$|^\.\/(?:packages\/testing|bench|docs|data|\.git)\b|\.(?:key|keys|pem|sqlite)$|\.env$/;
    expect(own.filter((path) => unwanted.test(path ?? ''))).toEqual([]);
    expect(
      paths.filter((path) => /^\.\/node_modules\/(?:jest|typescript)\//.test(path ?? '')),
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
  afterAll(() => docker('rmi', '--force', again));

  test('has the same files with the same content, modes and owners', async () => {
    const build = ['build', '--quiet', '--no-cache', '--tag', again, '.'];
    await run('docker', build, { cwd: root });
    const [first, second] = [await contentsOf('gatehouse:test'), await contentsOf(again)];
    // The compile cache of V8 is no source: Node rejects it if it does not fit.
    const compared = (lines: readonly string[]) =>
      lines.filter((line) => !line.includes('./compiled/'));
    expect(compared(second)).toEqual(compared(first));
    expect(compared(first).length).toBeGreaterThan(1000);
  });
});
