/** The processes, the master key, and what support needs to know about an installation. */
import { describeMasterKey, examineRecords, type ProcessEntry } from '@gatehouse/identity';
import type { createFigureActs } from './figures.ts';
import type { createFindingActs } from './findings.ts';
import type { Dependencies, Operator } from './operator.ts';
import type { createRequestActs } from './requests.ts';
import type { createSettingsActs } from './settings.ts';

type RequestActs = ReturnType<typeof createRequestActs>;
type InstallationActs = ReturnType<typeof createInstallationActs>;
export type MasterKeyState = NonNullable<Awaited<ReturnType<InstallationActs['masterKey']>>>;

const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;
const CLIENTS = 20;

/**
 * @param acts whose results are in the support bundle
 * @param path of the master key file. Undefined: this process has the key from elsewhere
 */
export function createInstallationActs(
  { identity, record, now }: Dependencies,
  acts: {
    readonly settings: ReturnType<typeof createSettingsActs>;
    readonly figures: ReturnType<typeof createFigureActs>;
    readonly findings: ReturnType<typeof createFindingActs>;
    readonly requests: RequestActs;
  },
  path: string | undefined,
) {
  const { processes } = identity;
  let counting: Promise<number> | undefined;

  async function countOutdated(file: string): Promise<number> {
    const { outdated } = await examineRecords({ identity, path: file });
    return [...outdated.values()].reduce((sum, each) => sum + each, 0);
  }

  return {
    /** The processes that reported within the last minute, with readiness and settings in effect. */
    processes: (): Promise<readonly ProcessEntry[]> => processes.read(),

    /** Each process that can loads its configuration again within ten seconds, as with SIGHUP. */
    async reload(operator: Operator): Promise<void> {
      await processes.requestReload();
      await record(operator, { event: 'reload_requested' });
    },

    /**
     * What support needs to know. It has no secret, and of users only the ids. It has no address of a
     * caller.
     */
    async supportBundle() {
      const since = now() - DAY_MILLISECONDS;
      const [found, settings, findings, figures, requests] = await Promise.all([
        processes.read(),
        acts.settings.read(),
        acts.findings.list(),
        acts.figures.read('24h'),
        acts.requests.export({ since }),
      ]);
      return {
        createdAt: new Date(now()).toISOString(),
        processes: found,
        ...settings,
        // The text of a finding has the names of its objects.
        findings: findings.map(({ what, objects, ...finding }) => ({
          ...finding,
          ...(objects.length === 0 && { what }),
          objects: objects.map(({ name: _name, ...object }) => object),
        })),
        figures,
        failures: failuresByReason(requests),
      };
    },

    /**
     * The keys by id. Undefined if this process has no file of the master key.
     *
     * @param isCounted adds how many records need another key than the current one. It reads all, so it
     *   runs once at a time
     */
    async masterKey(isCounted = false) {
      if (path === undefined) {
        return undefined;
      }
      if (isCounted) {
        counting ??= countOutdated(path).finally(() => {
          counting = undefined;
        });
      }
      const outdated = isCounted ? await counting : undefined;
      return { ...(await describeMasterKey({ identity, path })), outdated };
    },
  };
}

/** @param requests newest first */
function failuresByReason(requests: Awaited<ReturnType<RequestActs['export']>>) {
  const failed = requests.filter(({ reason }) => reason !== undefined);
  const groups = [...Map.groupBy(failed, ({ reason }) => reason)];
  return groups.map(([reason, found]) => ({
    reason,
    count: found.length,
    first: found.at(-1)?.time,
    last: found[0]?.time,
    operations: [...new Set(found.map(({ app, operation }) => `${app} ${operation}`))],
    clientIds: [...new Set(found.flatMap(({ clientId }) => clientId ?? []))].slice(0, CLIENTS),
    /** From how many networks they came. */
    networks: new Set(found.map(({ addressGroup }) => addressGroup)).size,
  }));
}
