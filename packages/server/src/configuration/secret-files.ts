/**
 * Files with secrets: their creation, and which other users of the machine can access them.
 *
 * Gatehouse corrects the modes of files that it created, and finds operators' files that other
 * users can access. Those files prevent a start on a public address. On a loopback address they are
 * warnings.
 */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  type Stats,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { ConfigurationProblem } from './configuration-error.ts';
import type { Environment } from './environment.ts';
import { isLoopbackUrl } from './variable-kinds.ts';

/** A file that holds secrets. `name` is the variable or member that names it. */
export interface SecretFile {
  readonly name: string;
  readonly path: string;
}

/** The user and the groups of the process that reads the file. */
interface Reader {
  readonly user: number;
  readonly groups: readonly number[];
}

/**
 * Files that apps create in `DATA_DIR`. SQLite and interrupted starts add files with longer names.
 */
const ownFiles = ['master.key', 'cookie.keys', 'demo.json', 'gatehouse.sqlite', 'devices.sqlite'];

/** The files that these variables name. */
export function secretFilesOf(
  environment: Environment,
  names: readonly string[],
): readonly SecretFile[] {
  return names.flatMap((name) => {
    const path = environment[name];
    return path === undefined || path === '' ? [] : [{ name, path }];
  });
}

/**
 * Corrects and reports the access of other users to the files of an app.
 *
 * @returns problems, with which the app must not start, and warnings for the log
 */
export function inspectFileAccess(subject: {
  /** The files that an operator names. */
  readonly files: readonly SecretFile[];
  /** The Unix sockets on which the app listens, or through which it connects. */
  readonly sockets?: readonly SecretFile[];
  /** `DATA_DIR`, if the app stores files in it. */
  readonly dataDirectory: string | undefined;
  /** The public address. Undefined for a process that serves no requests. */
  readonly publicUrl: string | undefined;
  /** Whether to correct modes, which is the default. Otherwise they are only reported. */
  readonly corrects?: boolean;
}): { readonly problems: readonly ConfigurationProblem[]; readonly warnings: readonly string[] } {
  const { files, sockets = [], dataDirectory, publicUrl, corrects = true } = subject;
  // Runs first, because a variable can name a file that Gatehouse created.
  const restricted =
    dataDirectory === undefined
      ? { corrected: [], problems: [] }
      : restrictDataDirectory(dataDirectory, currentReader(), corrects);
  const exposed = [
    ...restricted.problems,
    ...files.flatMap((file) => exposedFileProblem(file) ?? []),
    ...sockets.flatMap((file) => exposedSocketProblem(file) ?? []),
  ];
  if (publicUrl !== undefined && !isLoopbackUrl(publicUrl)) {
    return { problems: exposed, warnings: restricted.corrected };
  }
  const warnings = exposed.map(({ name, message }) => `${name}: ${message}`);
  return { problems: [], warnings: [...restricted.corrected, ...warnings] };
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
): { readonly corrected: readonly string[]; readonly problems: readonly ConfigurationProblem[] } {
  const folder = statOf(directory);
  if (reader === undefined || !folder?.isDirectory()) {
    return { corrected: [], problems: [] };
  }
  const corrected: string[] = [];
  const entries = namesIn(directory);
  const ours = entries.filter((entry) => ownFiles.some((own) => entry.startsWith(own)));
  const restricts = folder.uid === reader.user && ours.length === entries.length;
  const isPrivate = restricts && restrict(directory, folder, 0o700);
  const consequence = 'Users who can write to it can replace the keys.';
  const problems = [
    isPrivate ? undefined : writableFolderProblem('DATA_DIR', directory, reader, consequence),
    ...ours.map((entry) => {
      const path = join(directory, entry);
      const file = statOf(path);
      const isOurs = file?.uid === reader.user && file.isFile();
      return isOurs && restrict(path, file, 0o600)
        ? undefined
        : exposedFileProblem({ name: 'DATA_DIR', path }, reader);
    }),
  ];
  return { corrected, problems: problems.filter((problem) => problem !== undefined) };

  /** @returns whether only the owner has access now. Some file systems have no modes */
  function restrict(path: string, before: Stats, allowed: number): boolean {
    if (!corrects || (before.mode & 0o077) === 0) {
      return (before.mode & 0o077) === 0;
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

/** Reports the folder of a Unix socket in which other users could put a socket of their own. */
function exposedSocketProblem({ name, path }: SecretFile): ConfigurationProblem | undefined {
  const consequence = 'Users who can write to it can replace the socket, and get its requests.';
  return writableFolderProblem(name, dirname(path), currentReader(), consequence);
}

function writableFolderProblem(
  name: string,
  directory: string,
  reader: Reader | undefined,
  consequence: string,
): ConfigurationProblem | undefined {
  const folder = statOf(directory);
  if (reader === undefined || !folder?.isDirectory()) {
    return undefined;
  }
  // Root prepared the volume for the group of this process (Kubernetes: fsGroup).
  const isPrepared = folder.uid === 0 && reader.groups.includes(folder.gid);
  if ((folder.mode & (isPrepared ? 0o002 : 0o022)) === 0 || isOnReadOnlyMount(directory)) {
    return undefined;
  }
  const verb = name === 'DATA_DIR' ? 'names' : 'is in';
  const sudo = folder.uid === reader.user || reader.user === 0 ? '' : 'sudo ';
  const advice = `Use a folder for Gatehouse only, or run: ${sudo}chmod go-w ${quotePath(directory)}`;
  return {
    name,
    message: `${verb} a folder that other users can change (mode ${modeOf(folder)}). ${consequence} ${advice}`,
  };
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
  isReadOnly = isOnReadOnlyMount,
): ConfigurationProblem | undefined {
  const stats = statOf(path);
  if (reader === undefined || !stats?.isFile()) {
    return undefined;
  }
  if (!isExposed(stats, reader) || isReadOnly(path)) {
    return undefined;
  }
  const message = `names a file with secrets that other users can access (mode ${modeOf(stats)}). Run: ${remedy(path, stats, reader)}`;
  return { name, message };
}

/**
 * Returns whether other users can read or change a file. One group is accepted: the group of the
 * reader, if root owns the file and the group cannot change it (mode 0640 or 0440). For root, that
 * is any group, because the servers run as another user.
 */
export function isExposed(file: Pick<Stats, 'mode' | 'uid' | 'gid'>, reader: Reader): boolean {
  return (file.mode & (isOfReadersGroup(file, reader) ? 0o026 : 0o066)) !== 0;
}

function isOfReadersGroup({ uid, gid }: Pick<Stats, 'uid' | 'gid'>, { user, groups }: Reader) {
  return uid === 0 && (user === 0 || groups.includes(gid));
}

/** The reader can still read the file after the command, and so can a group that root prepared. */
function remedy(path: string, file: Stats, reader: Reader): string {
  const quoted = quotePath(path);
  const isOwner = file.uid === reader.user || reader.user === 0;
  if (isOfReadersGroup(file, reader) && (reader.user !== 0 || file.gid !== 0)) {
    return `${isOwner ? '' : 'sudo '}chmod 640 ${quoted}`;
  }
  return isOwner
    ? `chmod 600 ${quoted}`
    : `sudo chown ${reader.user} ${quoted} && sudo chmod 600 ${quoted}`;
}

/**
 * Returns whether the path is on a read-only mount, such as a secret of a container. Setting the
 * mode that it has fails with EROFS there, for any owner. access(2) checks the mode first.
 */
function isOnReadOnlyMount(path: string): boolean {
  try {
    chmodSync(path, statSync(path).mode & 0o7777);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS';
  }
}

/** @returns undefined on systems without users and modes */
function currentReader(): Reader | undefined {
  const { geteuid, getegid, getgroups } = process;
  return geteuid && getegid && getgroups
    ? { user: geteuid(), groups: [getegid(), ...getgroups()] }
    : undefined;
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function modeOf({ mode }: Stats): string {
  return `0${(mode & 0o777).toString(8).padStart(3, '0')}`;
}

/** Quotes a path for a POSIX shell. */
function quotePath(path: string): string {
  const explicit = path.startsWith('-') ? `./${path}` : path;
  return /^[\w./@:+-]+$/.test(explicit) ? explicit : `'${explicit.replaceAll("'", "'\\''")}'`;
}

/**
 * Reads a file that contains a secret, and creates it with mode 0600 if it does not exist. Several
 * processes can start at once. The content is written to a temporary file and then linked, so all
 * of them read the same complete content.
 */
export function readOrCreateSecretFile(path: string, createContent: () => string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    assertCode(error, 'ENOENT');
  }
  // Runs first. If it throws, no folder is created.
  const content = createContent();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`;
  writeFileSync(temporary, content, { mode: 0o600, flag: 'wx', flush: true });
  try {
    linkSync(temporary, path);
  } catch (error) {
    assertCode(error, 'EEXIST');
  } finally {
    unlinkSync(temporary);
  }
  return readFileSync(path, 'utf8');
}

function assertCode(error: unknown, code: string): void {
  if ((error as NodeJS.ErrnoException | undefined)?.code !== code) {
    throw error;
  }
}
