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
  existsSync,
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

/**
 * Files that apps create in `DATA_DIR`. SQLite and interrupted starts add files with longer names.
 */
const OWN_FILE = /^(?:master\.key|cookie\.keys|demo\.json|gatehouse\.sqlite|devices\.sqlite)/;

/** The files that these variables name. */
export function secretFilesOf(
  environment: Environment,
  names: readonly string[],
): readonly SecretFile[] {
  return names.flatMap((name) => {
    const path = environment[name];
    return path ? [{ name, path }] : [];
  });
}

/**
 * Corrects and reports the access of other users to the files of an app.
 *
 * @returns problems, with which the app must not start, and warnings for the log
 */
export function inspectFileAccess(access: {
  /** The files that an operator names. */
  readonly files: readonly SecretFile[];
  /** The Unix sockets on which the app listens, or through which it connects. */
  readonly sockets?: readonly SecretFile[];
  /** `DATA_DIR`, if the app stores files in it. */
  readonly dataDirectory: string | undefined;
  /** The public address. Undefined for a process that serves no requests. */
  readonly publicUrl: string | undefined;
  /** Whether to correct modes. Otherwise they are only reported. */
  readonly corrects?: boolean;
}) {
  const { files, sockets = [], dataDirectory = '', publicUrl, corrects = true } = access;
  // Runs first, because a variable can name a file that Gatehouse created.
  const { corrected, problems } = restrictDataDirectory(dataDirectory, currentReader(), corrects);
  const exposed = [
    ...problems,
    ...files.map((file) => exposedFileProblem(file)),
    ...sockets.map(({ name, path }) => exposedFolderProblem({ name, path: dirname(path) })),
  ].filter((problem) => problem !== undefined);
  if (publicUrl !== undefined && !isLoopbackUrl(publicUrl)) {
    return { problems: exposed, warnings: corrected };
  }
  const warnings = exposed.map(({ name, message }) => `${name}: ${message}`);
  return { problems: [], warnings: [...corrected, ...warnings] };
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
  reader: Reader = currentReader(),
  corrects = true,
): { readonly corrected: readonly string[]; readonly problems: readonly ConfigurationProblem[] } {
  const entries = attempt(() => readdirSync(directory)) ?? [];
  const own = entries.filter((entry) => OWN_FILE.test(entry)).map((each) => join(directory, each));
  const isOnlyOurs = own.length === entries.length && statOf(directory)?.isDirectory() === true;
  const restricted = isOnlyOurs ? [directory, ...own] : own;
  const corrected = corrects ? restricted.flatMap((path) => restrict(path, reader)) : [];
  const problems = [
    exposedFolderProblem({ name: 'DATA_DIR', path: directory }, reader),
    ...own.map((path) => exposedFileProblem({ name: 'DATA_DIR', path }, reader)),
  ];
  return { corrected, problems: problems.filter((problem) => problem !== undefined) };
}

/** @returns a sentence for the log. None if nothing changed: some file systems have no modes */
function restrict(path: string, { user }: Reader): readonly string[] {
  const before = statOf(path);
  if (before?.uid !== user || (before.mode & 0o077) === 0) {
    return [];
  }
  attempt(() => chmodSync(path, before.mode & 0o700));
  const after = statOf(path) ?? before;
  const change = `other users had access to ${path} (mode ${modeOf(before)}). Its mode is now ${modeOf(after)}`;
  return (after.mode & 0o077) === 0 ? [`DATA_DIR: ${change}.`] : [];
}

/** Reports a folder in which other users could replace the keys, or a Unix socket. */
function exposedFolderProblem(
  { name, path }: SecretFile,
  { groups }: Reader = currentReader(),
): ConfigurationProblem | undefined {
  const folder = statOf(path);
  // Root prepared the volume for the group of this process (Kubernetes: fsGroup).
  const isPrepared = folder?.uid === 0 && groups.includes(folder.gid);
  const isWritable = ((folder?.mode ?? 0) & (isPrepared ? 0o002 : 0o022)) !== 0;
  if (!folder?.isDirectory() || !isWritable || isOnReadOnlyMount(path)) {
    return undefined;
  }
  const [verb, replaced] =
    name === 'DATA_DIR' ? ['names', 'keys'] : ['is in', 'socket, and get its requests'];
  const danger = `${verb} a folder that other users can change (mode ${modeOf(folder)}). Users who can write to it can replace the ${replaced}`;
  const remedy = `Use a folder for Gatehouse only, or run: chmod go-w ${quotePath(path)}`;
  return { name, message: `${danger}. ${remedy}` };
}

/**
 * Reports a file that other users can read or change. Files on read-only mounts are accepted,
 * because containers get their secrets there and operators often cannot choose the modes. Missing
 * files are not reported here. The message quotes the path: the file exists, so the path is not the
 * secret.
 */
export function exposedFileProblem(
  { name, path }: SecretFile,
  reader: Reader = currentReader(),
  isReadOnly = isOnReadOnlyMount,
): ConfigurationProblem | undefined {
  const file = statOf(path);
  if (!file?.isFile() || !isExposed(file, reader) || isReadOnly(path)) {
    return undefined;
  }
  // A group that root prepared can still read the file, and so can another user who reads it.
  const isShared = isOfReadersGroup(file, reader) && (reader.user !== 0 || file.gid !== 0);
  const isForeign = !isShared && reader.user !== 0 && reader.user !== file.uid;
  const command = `chmod ${isShared ? 640 : 600} ${quotePath(path)}`;
  const chown = isForeign ? `chown ${reader.user} ${quotePath(path)} && ` : '';
  const problem = `names a file with secrets that other users can access (mode ${modeOf(file)})`;
  return { name, message: `${problem}. Run: ${chown}${command}` };
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

/** The user and the groups of the process that reads the file. */
interface Reader {
  readonly user: number;
  readonly groups: readonly number[];
}

function currentReader(): Reader {
  const { geteuid, getegid, getgroups } = process;
  return { user: geteuid?.() ?? -1, groups: [getegid?.() ?? -1, ...(getgroups?.() ?? [])] };
}

/** @returns undefined also on systems without users and modes */
function statOf(path: string): Stats | undefined {
  return process.geteuid === undefined ? undefined : attempt(() => statSync(path));
}

function attempt<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

const modeOf = ({ mode }: Stats) => `0${(mode & 0o777).toString(8).padStart(3, '0')}`;

/** Quotes a path for a POSIX shell. */
const quotePath = (path: string) =>
  /^[\w./@:+][\w./@:+-]*$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;

/**
 * Reads a file that contains a secret, and creates it with mode 0600 if it does not exist. Several
 * processes can start at once. The content is written to a temporary file and then linked, so all
 * of them read the same complete content.
 */
export function readOrCreateSecretFile(path: string, createContent: () => string): string {
  if (!existsSync(path)) {
    // Runs first. If it throws, no folder is created.
    const content = createContent();
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`;
    writeFileSync(temporary, content, { mode: 0o600, flag: 'wx', flush: true });
    try {
      linkSync(temporary, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
        throw error;
      }
    } finally {
      unlinkSync(temporary);
    }
  }
  return readFileSync(path, 'utf8');
}
