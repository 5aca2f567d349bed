import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { rename, stat } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, describe, expect, test } from '@jest/globals';
import { type RunningServer, serve } from '../src/index.ts';

const directory = temporaryFolder();
const servers: RunningServer[] = [];

afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
});

async function start(name: string, answerAfterMilliseconds = 0): Promise<RunningServer> {
  const server = await serve(
    ({ socket }, response) => {
      setTimeout(() => response.end(String(socket.remoteAddress)), answerAfterMilliseconds);
    },
    { host: 'unused', port: 0, socketPath: join(directory, name) },
  );
  servers.push(server);
  return server;
}

/** Returns the body of the reply, or the error code. */
function post(name: string): Promise<string> {
  return new Promise((resolve) => {
    const options = { socketPath: join(directory, name), method: 'POST', agent: false };
    const sending = request(options, async (reply) => {
      resolve(Buffer.concat(await reply.toArray()).toString());
    });
    sending.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    sending.end('body');
  });
}

/** Creates a stale socket, as a process does that ends without closing it. */
async function leaveBehind(name: string): Promise<void> {
  const server = createServer().listen(join(directory, 'before'));
  await rename(join(directory, 'before'), join(directory, name));
  await new Promise((resolve) => server.close(resolve));
}

describe('a server on a Unix socket', () => {
  test('accepts every process with access to the folder, and treats it as this machine', async () => {
    const { port } = await start('one');
    expect(port).toBe(0);
    expect((await stat(join(directory, 'one'))).mode & 0o666).toBe(0o666);
    expect(await post('one')).toBe('127.0.0.1');
  });

  test('replaces a stale socket', async () => {
    await leaveBehind('stale');
    expect(await post('stale')).toBe('ECONNREFUSED');
    await start('stale');
    expect(await post('stale')).toBe('127.0.0.1');
  });

  test('does not replace other files', async () => {
    writeFileSync(join(directory, 'file'), 'kept');
    await expect(start('file')).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect(existsSync(join(directory, 'file'))).toBe(true);
  });

  test('creates only its name in the folder, and removes it at the end', async () => {
    const place = join(directory, 'place');
    mkdirSync(place);
    const server = await start('place/one');
    await expect(start('place/one')).rejects.toThrow(/one is served by another process/);
    expect(readdirSync(place)).toEqual(['one']);
    await server.close();
    expect(readdirSync(place)).toEqual([]);
  });

  test('keeps the name of a successor when it ends', async () => {
    const first = await start('handed-over', 200);
    const inFlight = post('handed-over');
    await sleep(50);
    const closed = first.close();
    while (existsSync(join(directory, 'handed-over'))) {
      await sleep(1);
    }
    await start('handed-over');
    await closed;
    expect(await inFlight).toBe('127.0.0.1');
    expect(await post('handed-over')).toBe('127.0.0.1');
  });

  test('replies on every accepted connection and removes its name first', async () => {
    const server = await start('ending', 30);
    const outcomes: Promise<string>[] = [];
    const sending = setInterval(() => outcomes.push(post('ending'), post('ending')), 1);
    await until(() => outcomes.length > 40);
    await server.close();
    expect(existsSync(join(directory, 'ending'))).toBe(false);
    const sent = outcomes.length;
    await until(() => outcomes.length > sent);
    clearInterval(sending);
    const seen = await Promise.all(outcomes);
    expect(new Set(seen)).toEqual(new Set(['127.0.0.1', 'ENOENT']));
    expect(seen.filter((outcome) => outcome === '127.0.0.1').length).toBeGreaterThan(20);
  });
});
