// Runs a TypeScript entry point with the pinned Node of the project. The Node of the machine, 20 or newer,
// only runs this file. Installs the dependencies first if they are missing or outdated.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [entry, ...args] = process.argv.slice(2);
const nodeModules = join(root, 'node_modules');

ensureInstalled();
keepCompiledCode();
await run(join(root, entry), args);

function ensureInstalled() {
  if (process.env.NODE_ENV === 'production') {
    return;
  }
  const stamp = join(nodeModules, '.installed');
  const wanted = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) {
    return;
  }
  console.error('Installing dependencies (once) …');
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status !== 0) {
    console.error(
      'Cannot install the dependencies: npm ci failed. Correct the errors above, then try again.',
    );
    process.exit(1);
  }
  writeFileSync(stamp, wanted);
}

/** Halves the processor time that an app needs to start. Every process that this one starts uses the cache, too. */
function keepCompiledCode() {
  process.env.NODE_COMPILE_CACHE ??= join(nodeModules, '.cache', 'compiled');
  module.enableCompileCache?.();
}

async function run(file, args) {
  const pinned = join(nodeModules, 'node', 'bin', 'node');
  const wanted = existsSync(pinned)
    ? readVersion(join(nodeModules, 'node', 'package.json'))
    : undefined;
  if (wanted === undefined || process.version === `v${wanted}`) {
    process.argv = [process.argv[0], file, ...args];
    await import(pathToFileURL(file).href);
    return;
  }
  // The child is in the same process group, so Ctrl-C reaches it directly. The IPC channel closes when
  // this process ends. --disable-sigusr1: a signal cannot open a debugger (SL-10).
  const child = spawn(pinned, ['--disable-sigusr1', file, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  process.on('SIGINT', () => child.connected && child.disconnect());
  process.on('SIGTERM', () => child.connected && child.disconnect());
  child.on('message', (message) => process.send?.(message));
  process.on('disconnect', () => child.connected && child.disconnect());
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 0 : 1)));
}

function readVersion(file) {
  return JSON.parse(readFileSync(file, 'utf8')).version;
}
