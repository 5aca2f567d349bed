/** The mutated folders, and the workspaces whose tests can reach each of them. */
export interface MutatedFolder {
  /** Its files that are not tests are mutated. */
  readonly folder: string;
  /** Workspaces, the nearest one first. */
  readonly workspaces: readonly string[];
}

export const mutatedFolders: readonly MutatedFolder[] = [
  {
    folder: 'packages/request-signature/src',
    workspaces: ['packages/request-signature', 'apps/gateway', 'apps/cli'],
  },
  {
    folder: 'packages/identity/src',
    workspaces: ['packages/identity', 'apps/authorization-server', 'apps/gateway', 'apps/cli'],
  },
  ...['grants', 'throttle', 'provider'].map((name) => ({
    folder: `apps/authorization-server/src/${name}`,
    workspaces: ['apps/authorization-server'],
  })),
  ...['authentication', 'pipeline'].map((name) => ({
    folder: `apps/gateway/src/${name}`,
    workspaces: ['apps/gateway'],
  })),
];

/** The files of a folder that are mutated. */
export function isMutated(path: string): boolean {
  return !/\.test\.ts$|-contract\.ts$|\/index\.ts$|\.d\.ts$/.test(path);
}
