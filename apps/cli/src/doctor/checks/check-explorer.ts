import { type Finding, finding } from '../finding.ts';
import type { PublicServer } from '../installation.ts';
import { probe } from '../probe.ts';

/** Whether a public gateway serves the API explorer. */
export async function checkExplorer({ variable, url }: PublicServer): Promise<readonly Finding[]> {
  const reply = await probe(`${url}/explorer`).catch(() => undefined);
  return reply?.status === 200 && reply.text.includes('<title>API explorer · Gatehouse</title>')
    ? [finding('explorer_public', `${variable} ${url} serves the API explorer at /explorer.`)]
    : [];
}
