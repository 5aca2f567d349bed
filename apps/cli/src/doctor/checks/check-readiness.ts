import { type Finding, finding } from '../finding.ts';
import type { Installation } from '../installation.ts';
import { printable } from '../printable.ts';
import { isProbeTimeout, probe } from '../probe.ts';

const MAXIMUM_CHECKS = 10;

/** Asks the apps on this machine. An app elsewhere is not checked here. */
export async function checkReadiness({
  operationsPorts,
}: Pick<Installation, 'operationsPorts'>): Promise<readonly Finding[]> {
  const findings = await Promise.all(
    Object.entries(operationsPorts).map(([name, port]) => checkApp(name, port)),
  );
  return findings.flat();
}

async function checkApp(name: string, port: number): Promise<readonly Finding[]> {
  try {
    const { status, text } = await probe(`http://127.0.0.1:${port}/ready`);
    return status === 503
      ? [finding('app_not_ready', `The ${name} is not ready${failingChecks(text)}.`)]
      : [];
  } catch (error) {
    return isProbeTimeout(error)
      ? [finding('app_not_ready', `The ${name} does not answer on port ${port}.`)]
      : [];
  }
}

/** Any program can listen on the port, so its text is not trusted. */
function failingChecks(text: string): string {
  const { checks } = parse(text);
  const failing = Object.entries(checks ?? {}).filter(
    ([name, state]) => state !== 'ok' && name !== 'workers',
  );
  return failing.length === 0
    ? ''
    : `: ${failing
        .slice(0, MAXIMUM_CHECKS)
        .map(([name, state]) => printable(`${name} is ${state}`))
        .join(', ')}`;
}

function parse(text: string): { readonly checks?: Readonly<Record<string, unknown>> } {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
