// Runs a TypeScript entry point. Uses the Node of the machine if it is new enough, otherwise the
// pinned one of the project. Installs missing or outdated dependencies first: all of them for tests
// and checks, and only those that running needs for everything else. The Node of the machine, 20 or
// later, only runs this file.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** argon2 in node:crypto needs 24.7. */
const MINIMUM_NODE = [24, 7];
const STILL_INSTALLING_MILLISECONDS = 5000;
const PARENT_CHECK_MILLISECONDS = 500;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [entry, ...args] = process.argv.slice(2);
const nodeModules = join(root, 'node_modules');
const pinnedNode = join(nodeModules, 'node', 'bin', 'node');
// npm puts node_modules/.bin first in the PATH, so the pinned Node itself may run this file.
const isPinnedNode = process.execPath === pinnedNode;
const needsPinnedNode = isPinnedNode || !isNewEnough(process.versions.node);
const onlyRuns = /^apps\/|^scripts\/start\.ts$/.test(entry);

await ensureInstalled();
keepCompiledCode();
endWithNpm();
await run(join(root, entry), args);

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor >= MINIMUM_NODE[1]);
}

async function ensureInstalled() {
  if (process.env.NODE_ENV === 'production') {
    assertInstalledForProduction();
    return;
  }
  if (isInstalled()) {
    return;
  }
  if (process.env.npm_lifecycle_event === 'prepack') {
    exit('Cannot pack: the dependencies are not installed. Run in the repository: npm ci');
  }
  console.error('Installing dependencies (once) …');
  // The compiler and the linter come as optional packages, one for each platform.
  const omitted = onlyRuns ? ['dev', ...(needsPinnedNode ? [] : ['optional'])] : [];
  const begun = Date.now();
  const progress = setInterval(() => {
    console.error(`Still installing after ${Math.round((Date.now() - begun) / 1000)} s …`);
  }, STILL_INSTALLING_MILLISECONDS);
  const install = spawn(
    'npm',
    [
      'ci',
      ...omitted.map((kind) => `--omit=${kind}`),
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
    ],
    { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' },
  );
  const [status] = await once(install, 'close').catch(() => [1]);
  clearInterval(progress);
  if (status !== 0) {
    exit(
      'Cannot install the dependencies: npm ci failed. Correct the errors above, then try again.',
    );
  }
}

/** In production, a start changes no files, so an operator installs first. */
function assertInstalledForProduction() {
  if (!existsSync(join(nodeModules, '.package-lock.json'))) {
    exit(
      'Cannot start: the dependencies are not installed, and with NODE_ENV=production a start does not install them. ' +
        'Run: npm ci --omit=dev',
    );
  }
  if (needsPinnedNode && !existsSync(pinnedNode)) {
    exit(
      `Cannot start: Node ${process.versions.node} is too old. Use Node ${MINIMUM_NODE.join('.')} or later, ` +
        'or install the pinned one. Run: npm ci --omit=dev',
    );
  }
}

function exit(reason) {
  console.error(reason);
  process.exit(1);
}

/**
 * Compares what npm installed with package-lock.json. Binaries for other platforms are optional, so
 * they may be missing.
 */
function isInstalled() {
  const record = join(nodeModules, '.package-lock.json');
  if (!existsSync(record) || (needsPinnedNode && !existsSync(pinnedNode))) {
    return false;
  }
  const wanted = readPackages(join(root, 'package-lock.json'));
  const installed = readPackages(record);
  return Object.entries(wanted)
    .filter(([path, { dev, optional, devOptional }]) => {
      return path.startsWith('node_modules/') && !optional && !((dev || devOptional) && onlyRuns);
    })
    .every(([path, { version, link }]) => {
      return (link || installed[path]?.version === version) && existsSync(join(root, path));
    });
}

function readPackages(file) {
  return JSON.parse(readFileSync(file, 'utf8')).packages;
}

/**
 * Halves the processor time that an app needs to start. Every process that this one starts uses the
 * cache, too.
 */
function keepCompiledCode() {
  process.env.NODE_COMPILE_CACHE ??= join(nodeModules, '.cache', 'compiled');
  module.enableCompileCache?.();
}

/**
 * npm passes SIGTERM on (`exec` in package.json leaves no shell in between), but a killed npm cannot.
 * Without this, the servers would stay behind and keep their ports.
 */
function endWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) {
    return;
  }
  const parent = process.ppid;
  const check = setInterval(() => {
    if (process.ppid !== parent) {
      clearInterval(check);
      process.kill(process.pid, 'SIGTERM');
    }
  }, PARENT_CHECK_MILLISECONDS);
  check.unref();
}

async function run(file, args) {
  if (isPinnedNode || !needsPinnedNode) {
    process.argv = [process.argv[0], file, ...args];
    await import(pathToFileURL(file).href);
    return;
  }
  // The child is in the same process group, so Ctrl-C reaches it directly. The IPC channel closes
  // when this process ends. --disable-sigusr1: a signal cannot open a debugger (SL-10).
  const child = spawn(pinnedNode, ['--disable-sigusr1', file, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  process.on('SIGINT', () => child.connected && child.disconnect());
  process.on('SIGTERM', () => child.connected && child.disconnect());
  child.on('message', (message) => process.send?.(message));
  process.on('disconnect', () => child.connected && child.disconnect());
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 0 : 1)));
}
