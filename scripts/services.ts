import { spawnSync } from 'node:child_process';

/** The programs that tests run, each with its Debian package and a shell command that finds it. */
const services: Readonly<Record<string, { readonly package: string; readonly probe: string }>> = {
  'redis-server': { package: 'redis-server', probe: 'command -v redis-server' },
  chromium: { package: 'chromium', probe: 'command -v chromium' },
  // Debian installs each version of the server in its own folder, outside the PATH.
  postgresql: {
    package: 'postgresql',
    probe: 'ls /usr/lib/postgresql/*/bin/postgres || command -v postgres',
  },
  openssl: { package: 'openssl', probe: 'command -v openssl' },
  python3: { package: 'python3', probe: 'command -v python3' },
  sqlite3: { package: 'sqlite3', probe: 'command -v sqlite3' },
  'redis-cli': { package: 'redis-tools', probe: 'command -v redis-cli' },
  nginx: { package: 'nginx', probe: 'command -v nginx' },
  caddy: { package: 'caddy', probe: 'command -v caddy' },
  haproxy: { package: 'haproxy', probe: 'command -v haproxy' },
  prometheus: { package: 'prometheus', probe: 'command -v prometheus && command -v promtool' },
  // Debian 12 has a version that cannot read the manifests.
  kubectl: { package: 'kubernetes-client', probe: 'kubectl kustomize deploy/kubernetes/base' },
  slowhttptest: { package: 'slowhttptest', probe: 'command -v slowhttptest' },
  // Clients of test/clients. Debian's Python and Ruby, because others do not find its libraries.
  authlib: {
    package: 'python3-authlib',
    probe: '/usr/bin/python3 -c "import authlib.integrations.requests_client"',
  },
  'requests-oauthlib': {
    package: 'python3-requests-oauthlib',
    probe: '/usr/bin/python3 -c "import requests_oauthlib"',
  },
  apache2: { package: 'apache2', probe: 'test -x /usr/sbin/apache2' },
  'mod-auth-openidc': {
    package: 'libapache2-mod-auth-openidc',
    probe: 'test -e /usr/lib/apache2/modules/mod_auth_openidc.so',
  },
  omniauth: {
    package: 'ruby-omniauth-openid-connect',
    probe: '/usr/bin/ruby -e "require %q(omniauth_openid_connect)"',
  },
  webrick: { package: 'ruby-webrick', probe: '/usr/bin/ruby -e "require %q(webrick)"' },
  curl: { package: 'curl', probe: 'command -v curl' },
  // Compilers and interpreters of the signers.
  go: { package: 'golang-go', probe: 'command -v go' },
  javac: { package: 'default-jdk-headless', probe: 'command -v javac && command -v java' },
  php: { package: 'php-cli', probe: 'command -v php' },
  cc: { package: 'gcc libc6-dev', probe: 'command -v cc' },
  'arm-none-eabi-gcc': {
    package: 'gcc-arm-none-eabi libnewlib-arm-none-eabi',
    probe: 'command -v arm-none-eabi-gcc arm-none-eabi-size && ls /usr/include/newlib/string.h',
  },
};

export function missingServices(names: readonly string[]): readonly string[] {
  return names.filter((name) => spawnSync('sh', ['-c', serviceOf(name).probe]).status !== 0);
}

/** @throws Error for a name that is not in the table, such as a misspelling in a test */
function serviceOf(name: string) {
  const service = services[name];
  if (service === undefined) {
    throw new Error(`A test requires ${name}, but scripts/services.ts does not list it.`);
  }
  return service;
}

/**
 * Installs missing programs with apt. Without permission, prints what to install and exits with 1.
 */
export function installMissingServices(names: readonly string[]): void {
  const missing = missingServices(names);
  if (missing.length === 0) {
    return;
  }
  const wanted = missing.flatMap((name) => serviceOf(name).package.split(' '));
  const mayInstall =
    process.getuid?.() === 0 && spawnSync('sh', ['-c', 'command -v apt-get']).status === 0;
  if (mayInstall && install(wanted) && missingServices(names).length === 0) {
    return;
  }
  console.error(
    `The tests need ${missing.join(', ')}. On Debian: sudo apt-get install ${wanted.join(' ')}\n` +
      'To skip the tests that need them, set ALLOW_MISSING_SERVICES=1.',
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
