import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

/** Creates a key and a self-signed certificate in one file. */
export function makeCertificate(file: string): string {
  const options = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1';
  const output = ['-subj', '/CN=127.0.0.1', '-keyout', '-', '-out', '-'];
  const pem = execFileSync('openssl', ['req', ...options.split(' '), ...output], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  writeFileSync(file, pem, { mode: 0o600 });
  return file;
}
