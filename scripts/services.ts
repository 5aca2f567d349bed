import { spawnSync } from 'node:child_process';

/** The machine's programs that tests run, and the Debian package each comes from. */
const packages: Readonly<Record<string, string>> = {
  'redis-server': 'redis-server',
  chromium: 'chromium',
  openssl: 'openssl',
  curl: 'curl',
};

export function missingServices(names: readonly string[]): readonly string[] {
  return names.filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0);
}

/** Installs with apt where this process may; otherwise ends it, saying what to install. */
export function installMissingServices(names: readonly string[]): void {
  const missing = missingServices(names);
  if (missing.length === 0) {
    return;
  }
  const wanted = missing.map((name) => packages[name] ?? name);
  const mayInstall = process.getuid?.() === 0 && missingServices(['apt-get']).length === 0;
  if (mayInstall && install(wanted) && missingServices(names).length === 0) {
    return;
  }
  console.error(
    `The tests need ${missing.join(', ')}. On Debian: sudo apt-get install ${wanted.join(' ')}\n` +
      'To run what can be run without, set ALLOW_MISSING_SERVICES=1.',
  );
  process.exit(1);
}

function install(wanted: readonly string[]): boolean {
  console.error(`Installing ${wanted.join(', ')} (once) …`);
  const apt = (...parameters: string[]) =>
    spawnSync('apt-get', parameters, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    }).status === 0;
  return apt('update', '-q') && apt('install', '-y', '-q', '--no-install-recommends', ...wanted);
}
