import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { redisAccessRule } from '@gatehouse/store';
import { makeCertificate, type TopologySecurity } from '@gatehouse/testing';

export interface Security extends TopologySecurity {
  /** Makes an app trust the private authority. */
  readonly environment: Readonly<Record<string, string>>;
  remove(): void;
}

/** TLS with a private authority, and a Redis user with exactly the documented rights. */
export function makeSecurity(): Security {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-faults-'));
  const certificate = makeCertificate(directory, ['127.0.0.1', 'localhost']);
  return {
    certificate,
    accessRule: redisAccessRule,
    environment: { NODE_EXTRA_CA_CERTS: certificate.certificateFile },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}
