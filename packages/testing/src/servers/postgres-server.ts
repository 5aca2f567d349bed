import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '../network/free-port.ts';
import { startServerProgram } from './server-program.ts';

export interface PostgresServerOptions {
  /** Settings as in postgresql.conf: `{ shared_buffers: '1GB' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * Mounts a file system of this size, in memory and for this server alone, at `smallDisk.path`
   * below its folder, to test a full disk. Requires root.
   */
  readonly smallDiskMegabytes?: number;
  /** Creates a hot standby that streams from this server. */
  readonly standbyOf?: { readonly port: number };
}

/** A real PostgreSQL server on a free port, with its data in a temporary folder. */
export type PostgresServer = Awaited<ReturnType<typeof startPostgresServer>>;

/** Also the operating system user that the package of Debian creates. */
const USER = 'postgres';
const DATABASE = 'gatehouse';
const isRoot = process.getuid?.() === 0;
/** Prefix of a command that runs it without root privileges, which PostgreSQL refuses. */
const asUser = isRoot ? `setpriv --reuid=${USER} --regid=${USER} --clear-groups`.split(' ') : [];

/**
 * Needs Debian's `postgresql` (its programs are found below /usr/lib/postgresql, or on the PATH).
 * As root it runs as the user `postgres`.
 */
export async function startPostgresServer(options: PostgresServerOptions = {}) {
  const { settings = {}, smallDiskMegabytes, standbyOf } = options;
  const programs = await findPrograms();
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-postgres-'));
  await chmod(directory, 0o755);
  const [data, smallDisk] = [join(directory, 'data'), join(directory, 'small')];
  const port = await freePort();
  const owner = isRoot ? ['-o', USER, '-g', USER] : [];
  await run('install', ['-d', '-m', '700', ...owner, data, smallDisk]);
  const initialize =
    standbyOf === undefined
      ? 'initdb -A trust --locale=C -E UTF8'
      : `pg_basebackup -R -c fast -h 127.0.0.1 -p ${standbyOf.port}`;
  const command = [
    ...asUser,
    ...`${programs}${initialize} -U ${USER} --no-sync -D ${data}`.split(' '),
  ];
  await run(command[0] ?? '', command.slice(1));
  const server = serverCommand(programs, data, { port: String(port), ...settings });
  const [program = '', ...parameters] =
    smallDiskMegabytes === undefined ? server : withDisk(smallDisk, smallDiskMegabytes, server);

  /** Runs statements like psql, one transaction each, and resolves to the output. */
  function sql(statements: string, database: string = DATABASE): Promise<string> {
    const target = `-h 127.0.0.1 -p ${port} -U ${USER} -d ${database}`;
    const format = '-X -A -t -q -v ON_ERROR_STOP=1';
    return run(`${programs}psql`, `${target} ${format}`.split(' '), statements);
  }

  /** Creates an empty database and resolves to its URL. */
  async function createDatabase(name: string): Promise<string> {
    await sql(`create database ${name}`, 'postgres');
    return urlOf(name);
  }

  const urlOf = (database: string) => `postgres://${USER}@127.0.0.1:${port}/${database}`;
  const { pid, ...control } = await startServerProgram({
    launch() {
      const child = spawn(program, parameters, { stdio: 'ignore' });
      // A test that does not stop the server must not block the end of the test run.
      child.unref();
      return child;
    },
    isReady: async () => (await sql('select 1', 'postgres')) === '1',
    signal: signalEach,
  });
  if (standbyOf === undefined) {
    await createDatabase(DATABASE);
  }
  return {
    ...control,
    port,
    /** The process that was started first. The server processes descend from it. */
    get pid() {
      return pid();
    },
    /** URL of the empty database `gatehouse`. The user has all rights. */
    url: urlOf(DATABASE),
    /** Paths of the small disk, for the server and for this process. */
    smallDisk: { path: smallDisk, outsidePath: () => `/proc/${pid()}/root${smallDisk}` },
    sql,
    createDatabase,
    /** Promotes a standby, and resolves when it accepts writes. */
    promote: () => sql('select pg_promote()'),
    /** Stops the server and removes its folder. */
    async stop() {
      await control.kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function serverCommand(programs: string, data: string, more: Readonly<Record<string, string>>) {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    // Keeps these files below `data`. In /dev/shm, they would remain after SIGKILL.
    dynamic_shared_memory_type: 'mmap',
    ...more,
  };
  const pairs = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return [...asUser, `${programs}postgres`, '-D', data, ...pairs];
}

/** The mount is in a namespace of the server and ends with the server in every case. */
function withDisk(path: string, megabytes: number, server: readonly string[]): readonly string[] {
  const options = `size=${megabytes}m,mode=0700,uid=${USER},gid=${USER}`;
  const script = `mount -t tmpfs -o ${options} tmpfs ${path} && exec "$@"`;
  return ['unshare', '--mount', 'sh', '-c', script, 'sh', ...server];
}

/** Each server process is a separate process group, so each one gets the signal. */
function signalEach({ pid = 0 }: ChildProcess, name: NodeJS.Signals): void {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  for (const each of [pid, ...children.split(' ').filter(Boolean).map(Number)]) {
    try {
      process.kill(each, name);
    } catch (error) {
      // It can have ended. instanceof Error fails in Jest: the errors of Node are of another realm.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') {
        throw error;
      }
    }
  }
}

/** The folder of the programs. Debian has one per version. Other systems use the PATH. */
async function findPrograms(): Promise<string> {
  const root = '/usr/lib/postgresql';
  const versions = await readdir(root).catch(() => []);
  const [newest] = versions.sort((one, other) => Number(other) - Number(one));
  const onPath = spawnSync('sh', ['-c', 'dirname "$(command -v postgres)"'], { encoding: 'utf8' });
  return newest === undefined ? `${onPath.stdout.trim()}/` : `${root}/${newest}/bin/`;
}

async function run(program: string, parameters: readonly string[], input = ''): Promise<string> {
  const child = spawn(program, parameters);
  // If a program ends without reading its input, the exit code is the reason.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const [[code], output, errors] = await Promise.all([
    once(child, 'close'),
    text(child.stdout),
    text(child.stderr),
  ]);
  if (code !== 0) {
    throw new Error(`${program} ended with ${code}: ${errors}`);
  }
  return output.trim();
}
