import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../network/free-port.ts';
import { startServerProgram } from './server-program.ts';

export interface RedisServerOptions {
  /** Required password of clients, included in `url`. */
  readonly password?: string;
  /** User of the password, from an ACL file. It must have the right to send PING. */
  readonly username?: string;
  /** Further command line options: `['--appendonly', 'yes']`. */
  readonly arguments?: readonly string[];
  /** Makes it a Sentinel that watches these masters: lines of a sentinel.conf. */
  readonly sentinel?: readonly string[];
}

/** A real redis-server on a free port of this machine, with its data in a temporary folder. */
export type RedisServer = Awaited<ReturnType<typeof startRedisServer>>;

/** The server to test, such as `valkey-server`. */
const program = process.env.REDIS_SERVER ?? 'redis-server';

/**
 * Requires the program on the PATH. Keeps data in memory only, unless the arguments differ. With
 * an append-only file, `kill` loses no acknowledged write.
 */
export async function startRedisServer(options: RedisServerOptions = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-redis-'));
  const port = await freePort();
  /** Sends one command on a separate connection and resolves to the raw reply. */
  const login = [options.username, options.password].filter((word) => word !== undefined);
  const command = (...words: readonly string[]) => sendCommand(port, words, login);
  const startArguments =
    options.sentinel === undefined
      ? serverArguments(port, directory, options)
      : await sentinelArguments(port, directory, options.sentinel);
  const { kill, restart, freeze, thaw } = await startServerProgram({
    launch: () => spawn(program, startArguments, { stdio: 'ignore' }),
    isReady: async () => (await command('PING')).startsWith('+PONG'),
  });
  const credentials =
    options.password && `${options.username ?? ''}:${encodeURIComponent(options.password)}@`;
  return {
    ...{ kill, restart, freeze, thaw, command, port },
    /** Folder of its files. */
    directory,
    url: `redis://${credentials ?? ''}127.0.0.1:${port}`,
    /** Stops the server and removes its folder. */
    async stop() {
      await kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function serverArguments(port: number, directory: string, options: RedisServerOptions) {
  const { password, username } = options;
  return [
    ...`--port ${port} --bind 127.0.0.1 --dir ${directory} --appendonly no`.split(' '),
    ...['--save', ''],
    // Replies never wait for a slow disk, and a killed Redis loses no acknowledged write: the
    // operating system already holds it. With `everysec`, writes can wait in Redis for an fsync.
    ...['--appendfsync', 'no'],
    ...['--maxmemory-policy', 'noeviction'],
    ...(password === undefined || username !== undefined ? [] : ['--requirepass', password]),
    ...(options.arguments ?? []),
  ];
}

/** A Sentinel requires a file, which it rewrites. */
async function sentinelArguments(
  port: number,
  directory: string,
  lines: readonly string[],
): Promise<readonly string[]> {
  const file = join(directory, 'sentinel.conf');
  const head = [`port ${port}`, 'bind 127.0.0.1', `dir ${directory}`];
  await writeFile(file, `${[...head, ...lines].join('\n')}\n`);
  return [file, '--sentinel'];
}

/**
 * Supports short replies only: authenticates if necessary and reads the first reply.
 */
function sendCommand(
  port: number,
  words: readonly string[],
  credentials: readonly string[],
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.setTimeout(2000, () => socket.destroy(new Error('redis-server sent no reply.')));
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('redis-server closed the connection.')));
    socket.on('data', (data) => {
      received += data.toString();
      const reply = credentials.length === 0 ? received : received.replace(/^\+OK\r\n/, '');
      if (reply.includes('\r\n')) {
        socket.end();
        resolve(reply);
      }
    });
    const authentication = credentials.length === 0 ? '' : encode(['AUTH', ...credentials]);
    socket.write(authentication + encode(words));
  });
}

function encode(words: readonly string[]): string {
  const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  return `*${words.length}\r\n${parts.join('')}`;
}
