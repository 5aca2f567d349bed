import { randomUUID } from 'node:crypto';
import { type Finding, finding } from '../finding.ts';
import type { PublicServer } from '../installation.ts';
import { probe } from '../probe.ts';

/** The path of forward auth, and one below it. A proxy can block the first one only. */
const paths = ['/_verify', '/_verify/doctor'];

/**
 * Callers must not reach `/_verify` of the gateway through its proxy, because the gateway trusts this
 * proxy. While forward auth is off, the gateway answers `/_verify` like any unknown path.
 */
export async function checkVerificationPath({
  variable,
  url,
}: PublicServer): Promise<readonly Finding[]> {
  const ofUnknownPath = await statusOf(`${url}/${randomUUID()}`);
  const findings = await Promise.all(
    paths.map(async (path) => {
      const status = await statusOf(url + path);
      return status === undefined || status === 404 || status === ofUnknownPath
        ? []
        : [finding('verification_public', `${variable} ${url} answers ${path} with ${status}.`)];
    }),
  );
  return findings.flat();
}

/** @returns undefined if the server is unreachable */
async function statusOf(url: string): Promise<number | undefined> {
  return (await probe(url).catch(() => undefined))?.status;
}
