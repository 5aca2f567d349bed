import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';

export interface Certificate {
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Certificate that clients must trust. */
  readonly authority: string;
}

/** Creates a self-signed certificate for names or addresses. Requires `openssl`. */
export function makeCertificate(directory: string, names: readonly string[]): Certificate {
  const certificateFile = join(directory, 'certificate.pem');
  const keyFile = join(directory, 'certificate.key');
  const subjects = names.map((name) => `${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}`).join(',');
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=gatehouse test',
      '-addext',
      `subjectAltName=${subjects}`,
      '-keyout',
      keyFile,
      '-out',
      certificateFile,
    ],
    { stdio: 'ignore' },
  );
  return { certificateFile, keyFile, authority: readFileSync(certificateFile, 'utf8') };
}
