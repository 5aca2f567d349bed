import { type Stats, statSync } from 'node:fs';
import type { ConfigurationProblem } from '../configuration/configuration-error.ts';
import { isOnReadOnlyMount } from './read-only-mount.ts';

/** A file that holds secrets. */
export interface SecretFile {
  /** The variable or member that names the file. */
  readonly name: string;
  readonly path: string;
}

/** The user and the groups of the process that reads the file. */
export interface Reader {
  readonly user: number;
  readonly groups: readonly number[];
}

const READ = 4;
const WRITE = 2;

/** @returns undefined on systems without users and modes */
export function currentReader(): Reader | undefined {
  const { geteuid, getegid, getgroups } = process;
  if (geteuid === undefined || getegid === undefined || getgroups === undefined) {
    return undefined;
  }
  return { user: geteuid(), groups: [getegid(), ...getgroups()] };
}

/**
 * Reports a file that other users can read or change. Files on read-only mounts are accepted,
 * because containers get their secrets there and operators often cannot choose the modes. Missing
 * files are not reported here. The message quotes the path: the file exists, so the path is not the
 * secret.
 */
export function exposedFileProblem(
  { name, path }: SecretFile,
  reader: Reader | undefined = currentReader(),
  mounts?: string,
): ConfigurationProblem | undefined {
  const stats = statOf(path);
  if (reader === undefined || !stats?.isFile()) {
    return undefined;
  }
  const exposure = exposureOf(stats, reader);
  if (exposure === undefined || isOnReadOnlyMount(path, mounts)) {
    return undefined;
  }
  const message = `names a file with secrets that ${exposure} (mode ${modeOf(stats)}). Run: ${remedy(path, stats, reader)}`;
  return { name, message };
}

/**
 * Describes the access of other users, as part of a sentence. One group is accepted: the group of
 * the reader, if root owns the file and the group cannot change it (mode 0640 or 0440). For root,
 * that is any group, because the servers run as another user.
 */
export function exposureOf(
  { mode, uid, gid }: Pick<Stats, 'mode' | 'uid' | 'gid'>,
  reader: Reader,
): string | undefined {
  const others = mode & (READ | WRITE);
  if (others !== 0) {
    return `every user of this machine can ${describe(others)}`;
  }
  const group = (mode >> 3) & (READ | WRITE);
  const isOfReader = uid === 0 && (reader.user === 0 || reader.groups.includes(gid));
  if (group === 0 || (isOfReader && group === READ)) {
    return undefined;
  }
  return `group ${gid} can ${describe(group)}`;
}

export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

export function modeOf({ mode }: Stats): string {
  return `0${(mode & 0o777).toString(8).padStart(3, '0')}`;
}

/** Quotes a path for a POSIX shell. */
export function quotePath(path: string): string {
  const explicit = path.startsWith('-') ? `./${path}` : path;
  return /^[\w./@:+-]+$/.test(explicit) ? explicit : `'${explicit.replaceAll("'", "'\\''")}'`;
}

/** The reader can still read the file after the command, and so can a group that root prepared. */
function remedy(path: string, { uid, gid }: Stats, { user, groups }: Reader): string {
  const quoted = quotePath(path);
  if (user === 0 && uid === 0 && gid !== 0) {
    return `chmod 640 ${quoted}`;
  }
  if (uid === user || user === 0) {
    return `chmod 600 ${quoted}`;
  }
  return uid === 0 && groups.includes(gid)
    ? `sudo chmod 640 ${quoted}`
    : `sudo chown ${user} ${quoted} && sudo chmod 600 ${quoted}`;
}

function describe(access: number): string {
  const words = { [READ]: 'read', [WRITE]: 'change', [READ | WRITE]: 'read and change' };
  return words[access] ?? '';
}
