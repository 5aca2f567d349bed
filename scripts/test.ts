/**
 * `npm test` and `npm run test:SUITE`, followed by `-- [FILE…] [Jest options]`: runs one suite with
 * real services. With ALLOW_MISSING_SERVICES=1, it skips the tests whose services are missing, and
 * lists them.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { installMissingServices, missingServices } from './services.ts';

/** The image that test:compose builds. */
const GATEHOUSE_IMAGE = 'gatehouse:test';
/** Several times what the tests use. Many containers have only 64 MiB in `/dev/shm`. */
const REQUIRED_MEMORY_BYTES = 1024 ** 3;

/** What whole suites need, in addition to the programs that a file names. */
const suitePrograms: Readonly<Record<string, readonly string[]>> = {
  browser: ['chromium'],
  // bench/slow-clients
  slow: ['slowhttptest'],
  clients: [
    'chromium',
    'cc',
    'python3',
    'authlib',
    'requests-oauthlib',
    'omniauth',
    'webrick',
    'apache2',
    'mod-auth-openidc',
  ],
  compose: ['chromium', 'curl', 'kubectl', 'openssl', 'prometheus'],
};

const [suite = '', ...args] = process.argv.slice(2);
const files = testFiles();
const skipped = filesWithMissingServices();
const isReady =
  (suite !== 'clients' || installClientLibraries()) && (suite !== 'compose' || buildImage());
process.exitCode = isReady && runSuite() ? 0 : 1;

function runSuite(): boolean {
  if (suite === 'unit') {
    return runJest(args);
  }
  if (suite !== 'slow' || args.length > 0) {
    // One file at a time, because they would compete for the machine.
    return runJest([...args, '--runInBand']);
  }
  // A first line such as `// runs alone: it compares times` keeps a file from running next to
  // another one.
  const runsAlone = (file: string) => /^\/\/ runs alone: ./m.test(readFileSync(file, 'utf8'));
  const others = files.filter((file) => !runsAlone(file));
  const passedTogether = runJest(['--maxWorkers=2', '--runTestsByPath', ...others]);
  const passedAlone = runJest(['--runInBand', '--runTestsByPath', ...files.filter(runsAlone)]);
  // Fails if 500 slow clients delay other requests considerably.
  return (
    run(process.execPath, ['bench/slow-clients/run.ts', '3', '4']) && passedTogether && passedAlone
  );
}

function runJest(parameters: readonly string[]): boolean {
  return run(process.execPath, [
    '--experimental-vm-modules',
    // Otherwise, a pause of 250 ms makes a request fail where localhost also has the address ::1.
    '--network-family-autoselection-attempt-timeout=5000',
    '--disable-warning=ExperimentalWarning',
    // V8 would keep the code of the modules of each file: a gigabyte at the end, which every garbage
    // collection reads.
    '--no-compilation-cache',
    '--import=./scripts/compile-once.ts',
    'node_modules/jest/bin/jest.js',
    // Jest treats arguments after --selectProjects as more projects, so it comes last.
    ...parameters,
    '--selectProjects',
    suite,
  ]);
}

function run(program: string, parameters: readonly string[], cwd = '.'): boolean {
  const env = { ...process.env, ...memoryFolder(), GATEHOUSE_IMAGE, SKIPPED_TESTS: skipped };
  return spawnSync(program, parameters, { stdio: 'inherit', env, cwd }).status === 0;
}

/**
 * Keeps the temporary files of tests in memory. While a slow disk is busy, Redis, SQLite and
 * PostgreSQL stop for seconds, and correct tests fail. Containers cannot mount this folder.
 */
function memoryFolder(): Readonly<Record<string, string>> {
  const folder = '/dev/shm';
  if (suite === 'compose' || !existsSync(folder)) {
    return {};
  }
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < REQUIRED_MEMORY_BYTES ? {} : { TMPDIR: folder };
}

function testFiles(): readonly string[] {
  const ofSuite = (path: string) =>
    /\.(slow|browser)\.test\.ts$/.exec(path)?.[1] ??
    /^test\/(attacks|clients|faults|compose)\//.exec(path)?.[1] ??
    'unit';
  return globSync('{apps,packages,scripts,test}/**/*.test.ts', {
    exclude: (path) => path.includes('node_modules'),
  }).filter((path) => ofSuite(path) === suite);
}

/**
 * The first line of a test file lists the programs it needs: `// requires: redis-server chromium`.
 * Installs them if it may.
 *
 * @returns the files to skip, separated by spaces
 */
function filesWithMissingServices(): string {
  const needs = new Map(files.map((file) => [file, programsOf(file)]));
  const needed = [...new Set([...(suitePrograms[suite] ?? []), ...[...needs.values()].flat()])];
  if (process.env.ALLOW_MISSING_SERVICES !== '1') {
    installMissingServices(needed);
    return '';
  }
  const missing = missingServices(needed);
  const unusable = files.filter((file) => needs.get(file)?.some((name) => missing.includes(name)));
  for (const file of unusable) {
    console.error(`Skipped: ${file} (needs ${needs.get(file)?.join(', ')})`);
  }
  return unusable.join(' ');
}

function programsOf(file: string): readonly string[] {
  return /^\/\/ requires: (.+)$/m.exec(readFileSync(file, 'utf8'))?.[1]?.split(' ') ?? [];
}

/**
 * Installs the npm packages of test:clients. Only that suite needs them, so they have their own
 * lock file.
 */
function installClientLibraries(): boolean {
  const folder = 'test/clients';
  const record = join(folder, 'node_modules', '.package-lock.json');
  const installed = existsSync(record) ? readPackages(record) : {};
  const isComplete = Object.entries(readPackages(join(folder, 'package-lock.json'))).every(
    ([path, { version, optional }]) =>
      path === '' || optional === true || installed[path]?.version === version,
  );
  if (isComplete) {
    return true;
  }
  console.error('Installing the client libraries (once) …');
  return run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], folder);
}

function readPackages(file: string) {
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as {
    packages: Readonly<Record<string, { readonly version?: string; readonly optional?: boolean }>>;
  };
  return packages;
}

function buildImage(): boolean {
  const succeeds = (...parameters: readonly string[]) =>
    spawnSync('docker', parameters, { stdio: 'ignore' }).status === 0;
  if (!succeeds('info') || !succeeds('compose', 'version')) {
    console.error(
      'Docker is not available. Install Docker Engine 25 and Compose 2.24, or later, and start the engine.',
    );
    return false;
  }
  return run('docker', ['compose', 'build', '--quiet', 'secrets']);
}
