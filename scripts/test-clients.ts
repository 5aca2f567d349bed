/**
 * `npm run test:clients -- [FILE] [Jest options]`: third-party client libraries against running
 * apps.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { memoryFolder } from './memory-folder.ts';
import { runSuite } from './run-suite.ts';
import { installMissingServices } from './services.ts';

const folder = 'test/clients';

installMissingServices([
  'chromium',
  'cc',
  'python3',
  'authlib',
  'requests-oauthlib',
  'omniauth',
  'webrick',
  'apache2',
  'mod-auth-openidc',
]);
const suite = { folder, suffix: '.test.ts' };
process.exitCode =
  installLibraries() &&
  runSuite(suite, process.argv.slice(2), { ...memoryFolder(), CLIENT_TESTS: '1' })
    ? 0
    : 1;

/**
 * Installs the npm packages of the suite. Only this suite needs them, so they have their own lock
 * file.
 */
function installLibraries(): boolean {
  if (isInstalled()) {
    return true;
  }
  console.error('Installing the client libraries (once) …');
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  return status === 0;
}

function isInstalled(): boolean {
  const record = join(folder, 'node_modules', '.package-lock.json');
  if (!existsSync(record)) {
    return false;
  }
  const installed = readPackages(record);
  return Object.entries(readPackages(join(folder, 'package-lock.json'))).every(
    ([path, { version, optional }]) =>
      path === '' || optional === true || installed[path]?.version === version,
  );
}

function readPackages(file: string) {
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as {
    packages: Readonly<Record<string, { readonly version?: string; readonly optional?: boolean }>>;
  };
  return packages;
}
