import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '..');
let path: string;

beforeAll(() => {
  path = mkdtempSync(join(tmpdir(), 'gatehouse-path-'));
  for (const program of ['sh', 'ls']) {
    symlinkSync(`/bin/${program}`, join(path, program));
  }
});
afterAll(() => rmSync(path, { recursive: true }));

/** Runs the test command on a machine without services and apt. */
function runTests(environment: Record<string, string>) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['scripts/test.ts', 'unit', 'packages/errors/src/envelope', 'packages/store/test/redis-store'],
    { cwd: root, env: { PATH: path, ...environment }, encoding: 'utf8' },
  );
  return { status, output: stdout + stderr };
}

describe('npm test with missing services', () => {
  test('fails and prints what to install', () => {
    const { status, output } = runTests({});
    expect(status).toBe(1);
    expect(output).toMatch(/apt-get install .*redis-server/);
    expect(output).toContain('ALLOW_MISSING_SERVICES=1');
  });

  test('runs the other tests with ALLOW_MISSING_SERVICES=1, and lists the skipped files', () => {
    const { status, output } = runTests({ ALLOW_MISSING_SERVICES: '1' });
    expect(output).toContain(
      'Skipped: packages/store/test/redis/redis-store.test.ts (needs redis-server)',
    );
    expect(output).toMatch(/Test Suites: 1 passed, 1 total/);
    expect(status).toBe(0);
  });
});
