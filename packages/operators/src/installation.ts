/** The master key and its rotation. */
import { describeMasterKey, examineRecords } from '@gatehouse/identity';
import { type Dependencies, OperatorError } from './operator.ts';

export type MasterKeyState = Awaited<ReturnType<typeof describeMasterKey>>;

/** @param path of the master key file. Undefined: this process has the key from elsewhere */
export function createInstallationActs({ identity }: Dependencies, path: string | undefined) {
  let counting: Promise<number> | undefined;

  async function count(): Promise<number> {
    if (path === undefined) {
      throw new OperatorError('not_found', 'This process has no file of the master key.');
    }
    const { outdated } = await examineRecords({ identity, path });
    return [...outdated.values()].reduce((sum, each) => sum + each, 0);
  }

  return {
    /** The keys by id. Undefined if this process has no file of the master key. */
    masterKey: async (): Promise<MasterKeyState | undefined> =>
      path === undefined ? undefined : describeMasterKey({ identity, path }),

    /** How many records need another key than the current one. It reads all, so it runs once at a time. */
    async countOutdated(): Promise<number> {
      counting ??= count().finally(() => {
        counting = undefined;
      });
      return counting;
    },
  };
}
