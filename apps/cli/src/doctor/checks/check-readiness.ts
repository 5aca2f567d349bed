import { type Finding, finding } from '../finding.ts';
import type { Installation } from '../installation.ts';
import { probe } from '../probe.ts';

/** Asks the apps on this machine. An app elsewhere is not checked here. */
export async function checkReadiness({
  operationsPorts,
}: Pick<Installation, 'operationsPorts'>): Promise<readonly Finding[]> {
  const findings = await Promise.all(
    Object.entries(operationsPorts).map(async ([name, port]) => {
      const reply = await probe(`http://127.0.0.1:${port}/ready`).catch(() => undefined);
      if (reply?.status !== 503) {
        return [];
      }
      const failing = failingChecks(reply.text);
      return [finding('app_not_ready', `The ${name} is not ready${failing}.`)];
    }),
  );
  return findings.flat();
}

function failingChecks(text: string): string {
  try {
    const { checks = {} } = JSON.parse(text) as { checks?: Readonly<Record<string, string>> };
    const failing = Object.entries(checks).filter(([, state]) => state !== 'ok');
    return failing.length === 0
      ? ''
      : `: ${failing.map(([name, state]) => `${name} is ${state}`).join(', ')}`;
  } catch {
    return '';
  }
}
