import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { start } from '../machinery/processes.ts';

const APACHE_MODULES = '/usr/lib/apache2/modules';

/**
 * Starts Apache in the foreground with one process of threads. mod_auth_openidc introspects tokens
 * and caches the results. Returns undefined if it is not installed.
 */
export function startApache(
  core: number,
  directory: string,
  {
    port,
    upstream,
    verifier,
  }: { readonly port: number; readonly upstream: number; readonly verifier: number },
): ChildProcess | undefined {
  if (!existsSync(join(APACHE_MODULES, 'mod_auth_openidc.so'))) {
    return undefined;
  }
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'apache.conf');
  const modules = 'mpm_event authn_core authz_core authz_user auth_openidc proxy proxy_http';
  const loaded = modules
    .split(' ')
    .map((name) => `LoadModule ${name}_module ${APACHE_MODULES}/mod_${name}.so`);
  writeFileSync(
    file,
    `${loaded.join('\n')}
ServerName bench
ServerRoot ${directory}
PidFile ${directory}/pid
ErrorLog ${directory}/error.log
Listen 127.0.0.1:${port}
StartServers 1
ServerLimit 1
ThreadLimit 128
ThreadsPerChild 128
MaxRequestWorkers 128
KeepAlive On
MaxKeepAliveRequests 0
OIDCCryptoPassphrase bench
OIDCCacheType shm
OIDCOAuthClientID bench
OIDCOAuthClientSecret bench
OIDCOAuthIntrospectionEndpoint https://127.0.0.1:${verifier}/introspect
OIDCOAuthSSLValidateServer Off
<Location />
  AuthType oauth20
  Require valid-user
  ProxyPass http://127.0.0.1:${upstream}/
</Location>
`,
  );
  return start(core, 'apache2', ['-D', 'FOREGROUND', '-f', file]);
}
