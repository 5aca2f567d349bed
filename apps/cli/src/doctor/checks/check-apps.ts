import { printable } from '../../command-line/printable.ts';
import { type Finding, finding } from '../finding.ts';
import type { Installation } from '../installation.ts';
import { isProbeTimeout, probe } from '../probe.ts';
import { checkDatabase } from './check-database.ts';
import { checkRelease } from './check-versions.ts';

const MAXIMUM_CHECKS = 10;
const MAXIMUM_CHARACTERS = 200;

/**
 * Readiness, version and database of the apps on this machine. An app elsewhere is not checked here.
 */
export async function checkApps({
  operationsPorts,
}: Pick<Installation, 'operationsPorts'>): Promise<readonly Finding[]> {
  const findings = await Promise.all(
    Object.entries(operationsPorts).map(([name, port]) => checkApp(name, port)),
  );
  return findings.flat();
}

async function checkApp(name: string, port: number): Promise<readonly Finding[]> {
  try {
    const get = (path: string) => probe(`http://127.0.0.1:${port}${path}`);
    const optional = (path: string) => get(path).catch(() => undefined);
    const [ready, metrics, database] = await Promise.all([
      get('/ready'),
      optional('/metrics'),
      optional('/database'),
    ]);
    return [
      ...(ready.status === 503
        ? [finding('app_not_ready', `The ${name} is not ready${failingChecks(ready.text)}.`)]
        : []),
      ...checkRelease(name, metrics?.text ?? ''),
      // Only the device service has one.
      ...(database?.status === 200 ? checkDatabase(database) : []),
    ];
  } catch (error) {
    return isProbeTimeout(error)
      ? [finding('app_not_ready', `The ${name} does not answer on port ${port}.`)]
      : [];
  }
}

/** Any program can listen on the port, so its text is not trusted. */
function failingChecks(text: string): string {
  const failing = Object.entries(Object(parse(text).checks) as object).filter(
    ([name, state]) => state !== 'ok' && name !== 'workers',
  );
  return failing.length === 0
    ? ''
    : `: ${failing
        .slice(0, MAXIMUM_CHECKS)
        .map(([name, state]) => printable(`${name} is ${state}`).slice(0, MAXIMUM_CHARACTERS))
        .join(', ')}`;
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
