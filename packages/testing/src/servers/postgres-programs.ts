import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Also the operating system user that the package of Debian creates. */
export const USER = 'postgres';

/** The programs of PostgreSQL on this machine, and how to run them. */
export interface PostgresPrograms {
  readonly folder: string;
  /** Command prefix that runs a program without root privileges. */
  readonly asUser: readonly string[];
}

/** Debian has one folder per version in /usr/lib/postgresql. Other systems use the PATH. */
export async function findPostgresPrograms(): Promise<PostgresPrograms> {
  const root = '/usr/lib/postgresql';
  const versions = await readdir(root).catch(() => []);
  const [newest] = versions.sort((one, other) => Number(other) - Number(one));
  const onPath = spawnSync('sh', ['-c', 'dirname "$(command -v postgres)"'], { encoding: 'utf8' });
  const folder = newest === undefined ? onPath.stdout.trim() : join(root, newest, 'bin');
  const isRoot = process.getuid?.() === 0;
  const asUser = ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups'];
  return { folder, asUser: isRoot ? asUser : [] };
}

/** Creates the folders and, in the first one, a new cluster or a standby of the given server. */
export async function initializeCluster(
  programs: PostgresPrograms,
  [data = '', smallDisk = '']: readonly string[],
  primaryPort?: number,
): Promise<void> {
  const script =
    programs.asUser.length === 0
      ? `mkdir -m 700 ${data} ${smallDisk}`
      : `install -d -m 700 -o ${USER} -g ${USER} ${data} ${smallDisk}`;
  await run('sh', ['-c', script]);
  const [name = '', ...parameters] =
    primaryPort === undefined
      ? ['initdb', '-A', 'trust', '--locale=C', '-E', 'UTF8']
      : ['pg_basebackup', '-R', '-c', 'fast', '-h', '127.0.0.1', '-p', String(primaryPort)];
  const [program = '', ...rest] = [...programs.asUser, join(programs.folder, name)];
  await run(program, [...rest, '-D', data, '-U', USER, '--no-sync', ...parameters]);
}

/** Resolves to the output of the statements, unaligned and without headers. */
export function runPsql(
  programs: PostgresPrograms,
  port: number,
  database: string,
  statements: string,
): Promise<string> {
  const connection = ['-h', '127.0.0.1', '-p', String(port), '-U', USER, '-d', database];
  const format = ['-X', '-A', '-t', '-q', '-v', 'ON_ERROR_STOP=1'];
  return run(join(programs.folder, 'psql'), [...connection, ...format], statements);
}

async function run(
  program: string,
  parameters: readonly string[],
  input: string = '',
): Promise<string> {
  const child = spawn(program, parameters);
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  // If a program ends without reading its input, the exit code is the reason.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const [code] = await once(child, 'close');
  if (code !== 0) {
    throw new Error(`${program} ended with ${code}: ${errors}`);
  }
  return output.trim();
}
