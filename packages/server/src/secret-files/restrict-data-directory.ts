import { chmodSync, readdirSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ConfigurationProblem } from '../configuration/configuration-error.ts';
import {
  currentReader,
  exposedFileProblem,
  exposureOf,
  modeOf,
  quotePath,
  type Reader,
  type SecretFile,
  statOf,
} from './exposed-file.ts';
import { isOnReadOnlyMount } from './read-only-mount.ts';

/**
 * Files that apps create in `DATA_DIR`. SQLite and interrupted starts add files with longer names.
 */
const ownFiles = ['master.key', 'cookie.keys', 'demo.json', 'gatehouse.sqlite', 'devices.sqlite'];

export interface RestrictedAccess {
  /** The corrections, for the log. */
  readonly corrected: readonly string[];
  /** Access that this process must not or cannot remove. */
  readonly problems: readonly ConfigurationProblem[];
}

/**
 * Removes the access of group and others to `DATA_DIR` and to the apps' files in it. The mode of
 * the folder changes only if it contains no other files, because `DATA_DIR` can be `/var/lib` or
 * `/tmp`. In that case, only users that could replace the keys are a problem.
 *
 * @param corrects false to change nothing, and report what other users can access
 */
export function restrictDataDirectory(
  directory: string,
  reader: Reader | undefined = currentReader(),
  corrects = true,
): RestrictedAccess {
  const folder = statOf(directory);
  if (reader === undefined || !folder?.isDirectory()) {
    return { corrected: [], problems: [] };
  }
  const corrected: string[] = [];
  const problems: ConfigurationProblem[] = [];
  const entries = namesIn(directory);
  const ours = entries.filter((entry) => ownFiles.some((own) => entry.startsWith(own)));

  const restricts = folder.uid === reader.user && ours.length === entries.length;
  if (!restricts || !restrict(directory, folder, 0o700)) {
    const problem = replaceableKeys(directory, folder, reader);
    problems.push(...(problem === undefined ? [] : [problem]));
  }
  for (const path of ours.map((entry) => join(directory, entry))) {
    const file = statOf(path);
    if (file?.uid !== reader.user || !file.isFile() || !restrict(path, file, 0o600)) {
      const problem = exposedFileProblem({ name: 'DATA_DIR', path }, reader);
      problems.push(...(problem === undefined ? [] : [problem]));
    }
  }
  return { corrected, problems };

  /** @returns whether only the owner has access now. Some file systems have no modes */
  function restrict(path: string, before: Stats, allowed: number): boolean {
    if ((before.mode & 0o077) === 0) {
      return true;
    }
    if (!corrects) {
      return false;
    }
    try {
      chmodSync(path, before.mode & allowed);
    } catch {
      return false;
    }
    const after = statOf(path);
    if (after === undefined || (after.mode & 0o077) !== 0) {
      return false;
    }
    corrected.push(
      `DATA_DIR: other users had access to ${path} (mode ${modeOf(before)}). Its mode is now ${modeOf(after)}.`,
    );
    return true;
  }
}

function replaceableKeys(directory: string, folder: Stats, reader: Reader) {
  const consequence = 'Users who can write to it can replace the keys.';
  return writableFolderProblem({ name: 'DATA_DIR', path: directory }, folder, reader, consequence);
}

/** Reports the folder of a Unix socket in which other users could put a socket of their own. */
export function exposedSocketProblem(
  { name, path }: SecretFile,
  reader: Reader | undefined = currentReader(),
): ConfigurationProblem | undefined {
  const directory = dirname(path);
  const folder = statOf(directory);
  if (reader === undefined || !folder?.isDirectory()) {
    return undefined;
  }
  const consequence = 'Users who can write to it can replace the socket, and get its requests.';
  return writableFolderProblem({ name, path: directory }, folder, reader, consequence);
}

function writableFolderProblem(
  { name, path: directory }: SecretFile,
  folder: Stats,
  reader: Reader,
  consequence: string,
): ConfigurationProblem | undefined {
  const mode = folder.mode & 0o022;
  // Root prepared the volume for the group of this process (Kubernetes: fsGroup).
  const isPrepared = folder.uid === 0 && reader.groups.includes(folder.gid) && mode === 0o020;
  const exposure = isPrepared ? undefined : exposureOf({ ...folder, mode }, reader);
  if (exposure === undefined || isOnReadOnlyMount(directory)) {
    return undefined;
  }
  const command = `chmod go-w ${quotePath(directory)}`;
  const isOwner = folder.uid === reader.user || reader.user === 0;
  const advice = `${consequence} Use a folder for Gatehouse only, or run: ${isOwner ? '' : 'sudo '}${command}`;
  return {
    name,
    message: `${name === 'DATA_DIR' ? 'names' : 'is in'} a folder that ${exposure} (mode ${modeOf(folder)}). ${advice}`,
  };
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
