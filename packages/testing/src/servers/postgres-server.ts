import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '../network/free-port.ts';
import { until } from '../until.ts';
import { endWithThisProcess } from './app-process.ts';

export interface PostgresServerOptions {
  /** Settings as in postgresql.conf: `{ shared_buffers: '1GB' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * Mounts a file system of this size, in memory and for this server alone, at `smallDisk.path`
   * below its folder, to test a full disk. Requires root.
   */
  readonly smallDiskMegabytes?: number;
  /** Creates a hot standby that streams from this server. */
  readonly standbyOf?: PostgresServer;
}

/** A real PostgreSQL server on a free port, with its data in a temporary folder. */
export interface PostgresServer {
  readonly port: number;
  /** The process that was started first. The server processes descend from it. */
  readonly pid: number;
  /** URL of the empty database `gatehouse`. The user has all rights. */
  readonly url: string;
  /** Paths of the small disk, for the server and for this process. */
  readonly smallDisk: { readonly path: string; readonly outsidePath: () => string };
  /** Runs statements like psql, one transaction each, and resolves to the output. */
  sql(statements: string, database?: string): Promise<string>;
  /** Creates an empty database and resolves to its URL. */
  createDatabase(name: string): Promise<string>;
  /** kill -9 of every process. Connections break, and the next start uses the log. */
  kill(): Promise<void>;
  /** A `fast` shutdown: ends every connection and then the server. */
  shutDown(): Promise<void>;
  /** Promotes a standby, and resolves when it accepts writes. */
  promote(): Promise<void>;
  /** Restarts with the same port and folder, and waits until it answers. */
  restart(): Promise<void>;
  /** SIGSTOP: connections stay open without replies. */
  freeze(): void;
  thaw(): void;
  /** Stops the server and removes its folder. */
  stop(): Promise<void>;
}

/** Also the operating system user that the package of Debian creates. */
const USER = 'postgres';

const START_DEADLINE_SECONDS = 30;
const DATABASE = 'gatehouse';

/**
 * Needs Debian's `postgresql` (its programs are found below /usr/lib/postgresql, or on the PATH).
 * As root it runs as the user `postgres`, because PostgreSQL refuses root.
 */
export async function startPostgresServer(
  options: PostgresServerOptions = {},
): Promise<PostgresServer> {
  const programs = await findPostgresPrograms();
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-postgres-'));
  await chmod(directory, 0o755);
  const data = join(directory, 'data');
  const smallDiskPath = join(directory, 'small');
  const port = await freePort();
  await initializeCluster(programs, [data, smallDiskPath], options.standbyOf?.port);
  let child: ChildProcess | undefined;

  async function launch(): Promise<void> {
    const launched = spawnServer(programs, { data, port, smallDiskPath, options });
    child = launched;
    endWithThisProcess(launched, () => signal('SIGKILL'));
    await Promise.race([until(() => isReady(port), START_DEADLINE_SECONDS), failure(launched)]);
  }

  /** Each server process is a separate process group, so each one gets the signal. */
  function signal(name: NodeJS.Signals): void {
    if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      for (const pid of [child.pid, ...childrenOf(child.pid)]) {
        sendSignal(pid, name);
      }
    }
  }

  async function end(name: NodeJS.Signals): Promise<void> {
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const closed = once(child, 'close');
      signal(name);
      await closed;
    }
  }

  const sql = (statements: string, database = DATABASE) =>
    runPsql(programs, port, database, statements);
  const urlOf = (database: string) => `postgres://${USER}@127.0.0.1:${port}/${database}`;
  await launch();
  if (options.standbyOf === undefined) {
    await sql(`create database ${DATABASE}`, 'postgres');
  }
  return {
    port,
    get pid() {
      return child?.pid ?? 0;
    },
    url: urlOf(DATABASE),
    smallDisk: {
      path: smallDiskPath,
      outsidePath: () => `/proc/${child?.pid ?? 0}/root${smallDiskPath}`,
    },
    sql,
    createDatabase: async (name) => {
      await sql(`create database ${name}`, 'postgres');
      return urlOf(name);
    },
    kill: () => end('SIGKILL'),
    shutDown: async () => {
      const closed = child === undefined ? undefined : once(child, 'close');
      child?.kill('SIGINT');
      await closed;
    },
    promote: async () => {
      await sql('select pg_promote()');
    },
    restart: async () => {
      await end('SIGKILL');
      await launch();
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    stop: async () => {
      await end('SIGKILL');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

interface Launch {
  readonly data: string;
  readonly port: number;
  readonly smallDiskPath: string;
  readonly options: PostgresServerOptions;
}

/** The mount is in a namespace of the server and ends with the server in every case. */
function spawnServer(programs: PostgresPrograms, launch: Launch): ChildProcess {
  const { data, port, smallDiskPath, options } = launch;
  const settings = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    // Keeps these files below `data`. In /dev/shm, they would remain after SIGKILL.
    dynamic_shared_memory_type: 'mmap',
    ...options.settings,
  };
  const server = [
    ...programs.asUser,
    join(programs.folder, 'postgres'),
    '-D',
    data,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
  const mount = `size=${options.smallDiskMegabytes ?? 0}m,mode=0700,uid=${USER},gid=${USER}`;
  const [program = '', ...parameters] =
    options.smallDiskMegabytes === undefined
      ? server
      : [
          'unshare',
          '--mount',
          'sh',
          '-c',
          `mount -t tmpfs -o ${mount} tmpfs ${smallDiskPath} && exec "$@"`,
          'sh',
          ...server,
        ];
  const child = spawn(program, parameters, { stdio: 'ignore' });
  // A test that does not stop the server must not block the end of the test run, which stops it.
  child.unref();
  return child;
}

function childrenOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.split(' ').filter(Boolean).map(Number);
}

/** A process that has ended needs no signal. */
function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // instanceof Error fails in Jest, because the errors of Node are from another realm.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') {
      throw error;
    }
  }
}

/** Sends a start-up message. During recovery, PostgreSQL replies with an error. */
function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const parameters = Buffer.from(`user\0${USER}\0database\0postgres\0\0`);
    const head = Buffer.alloc(8);
    head.writeInt32BE(parameters.length + 8, 0);
    head.writeInt32BE(3 << 16, 4);
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(Buffer.concat([head, parameters])),
    );
    const settle = (ready: boolean) => {
      socket.destroy();
      resolve(ready);
    };
    socket.setTimeout(2000, () => settle(false));
    socket.once('error', () => settle(false));
    socket.once('data', (reply) => settle(reply[0] === 'R'.charCodeAt(0)));
  });
}

function failure(child: ChildProcess): Promise<never> {
  return new Promise((_resolve, reject) => {
    child.once('error', (cause) => reject(new Error('postgres cannot start.', { cause })));
    child.once('close', (code) => reject(new Error(`postgres ended early (${code}).`)));
  });
}

/** The programs of PostgreSQL on this machine, and how to run them. */
interface PostgresPrograms {
  readonly folder: string;
  /** Command prefix that runs a program without root privileges. */
  readonly asUser: readonly string[];
}

/** Debian has one folder per version in /usr/lib/postgresql. Other systems use the PATH. */
async function findPostgresPrograms(): Promise<PostgresPrograms> {
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
async function initializeCluster(
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
function runPsql(
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
