import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing';
import { afterAll, describe, expect, test } from '@jest/globals';
import { openRawConnection } from './raw-connection.ts';

const program = join(import.meta.dirname, 'server-process.ts');
const children: ChildProcess[] = [];

afterAll(() => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL');
  }
});

interface RunOptions {
  readonly supervised?: boolean;
  /** Options of Node. */
  readonly options?: readonly string[];
}

/** Starts a process, and waits until it runs or ends. */
async function run(mode: string, { supervised = false, options = [] }: RunOptions = {}) {
  const child = spawn(process.execPath, [...options, program, mode], {
    stdio: supervised ? ['ignore', 'pipe', 'pipe', 'ipc'] : ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let output = '';
  let errors = '';
  child.stdout?.on('data', (data: Buffer) => {
    output += data.toString();
  });
  child.stderr?.on('data', (data: Buffer) => {
    errors += data.toString();
  });
  // Node does not emit 'close' after a disconnect from this side.
  const outputs = [child.stdout, child.stderr].filter((stream) => stream !== null);
  const exit: Promise<unknown> = Promise.all([
    once(child, 'exit'),
    ...outputs.map((stream) => once(stream, 'end')),
  ]).then(([[code, signal]]) => code ?? signal);
  await until(() => output.includes('running') || child.exitCode !== null);
  const connect = () => openRawConnection(Number(/port (\d+)/.exec(output)?.[1]));
  return { child, exit, connect, output: () => output, errors: () => errors };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`;

/** Starts a process, requests a path, and waits until the request has arrived. */
async function runAndAsk(mode: string, path: string) {
  const process_ = await run(mode);
  const connection = process_.connect();
  connection.send(get(path));
  await until(() => process_.output().includes(`asked ${path}`));
  return { ...process_, connection };
}

describe('the end of a process', () => {
  test.concurrent.each(['SIGTERM', 'SIGINT'] as const)(
    'after %s replies to requests in flight and exits with 0',
    async (signal) => {
      const { child, connection, exit } = await runAndAsk('patient', '/slow');
      child.kill(signal);
      expect(await connection.ended()).toMatch(/connection: close[\s\S]*slow$/i);
      expect(await exit).toBe(0);
    },
  );

  test.concurrent.each(['patient', 'overloaded'])(
    'replies on connections that were not accepted yet: %s',
    async (mode) => {
      const { child, connect, exit } = await run(mode);
      // The kernel completes connections while the process cannot accept them.
      child.kill('SIGSTOP');
      const connections = Array.from({ length: 20 }, connect);
      for (const connection of connections) {
        connection.send(get('/'));
      }
      await sleep(100);
      child.kill('SIGTERM');
      child.kill('SIGCONT');
      const replies = await Promise.all(connections.map((connection) => connection.ended()));
      expect(replies.filter((reply) => !reply.startsWith('HTTP/1.1 200 OK'))).toEqual([]);
      expect(await exit).toBe(0);
    },
  );

  test.concurrent('follows a second signal immediately, with any request in flight', async () => {
    const { child, exit, errors } = await runAndAsk('patient', '/hang');
    child.kill('SIGTERM');
    await sleep(50);
    child.kill('SIGINT');
    // The drain would exit with 0, and the deadline would print a message.
    expect([await exit, errors()]).toEqual([1, '']);
  });

  test.concurrent('drains after a signal that npm repeats', async () => {
    const { child, connection, exit, connect } = await runAndAsk('patient', '/slow');
    child.kill('SIGINT');
    // The kernel merges a signal with a pending one of the same kind, so wait until it has arrived.
    await until(async () => (await connect().ended()) === '');
    child.kill('SIGINT');
    expect(await connection.ended()).toMatch(/slow$/);
    expect(await exit).toBe(0);
  });

  test.concurrent.each([
    ['does not wait for a close after the deadline', 'hangs', 'Ended without waiting any longer.'],
    ['reports a failed close', 'fails', 'Could not close in order: Error: stuck'],
  ])('%s and has the exit code 1', async (_name, end, message) => {
    const { child, exit, errors } = await run(`close ${end}`);
    child.kill('SIGTERM');
    expect(await exit).toBe(1);
    expect(errors()).toContain(message);
  });

  test.concurrent('treats the end of the supervisor and a signal as one Ctrl-C, and a second signal as immediate', async () => {
    const { child, connect, exit, output } = await run('patient', { supervised: true });
    connect().send(get('/hang'));
    await until(() => output().includes('asked /hang'));
    child.disconnect();
    await sleep(50);
    child.kill('SIGINT');
    await sleep(100);
    expect(child.exitCode).toBeNull();
    // The kernel merges a signal with a pending one of the same kind, so a slow process could miss
    // the second.
    child.kill('SIGTERM');
    expect(await exit).toBe(1);
  });

  test.concurrent('after an invalid configuration prints every reason and has the exit code 1', async () => {
    const process_ = await run('refused');
    expect(await process_.exit).toBe(1);
    expect(process_.errors()).toBe(
      'test-app did not start: GATEWAY_PORT: must be a port number\nSTORE_URL: is missing\n',
    );
  });
});

describe('a user that can signal a process', () => {
  test.concurrent('cannot open the debugger, and gets a core dump without memory', async () => {
    const process_ = await run('serve');
    const file = `/proc/${process_.child.pid}/coredump_filter`;
    const filter = existsSync(file) ? readFileSync(file, 'utf8').trim() : '00000000';
    expect(filter).toBe('00000000');
    process_.child.kill('SIGUSR1');
    await sleep(100);
    expect(process_.errors()).not.toContain('Debugger');
    // The process continues. Without a listener and an inspector, the signal would end it.
    const connection = process_.connect();
    connection.send(get('/'));
    await connection.until('done');
    connection.socket.destroy();
  });
});

describe('an unhandled error', () => {
  test.concurrent.each(['/crash', '/rejection'])(
    '%s is logged without secrets and ends the process with 1, even if Node is set to warn',
    async (path) => {
      const { exit, connect, output } = await run('serve', {
        options: ['--unhandled-rejections=warn'],
      });
      connect().send(get(path));
      expect(await exit).toBe(1);
      expect(output()).toContain('"level":"fatal"');
      expect(output()).toContain('redis://***@host');
      expect(output()).not.toContain('marker');
    },
  );

  test.concurrent.each([
    ['SIGTERM', 0],
    ['an accident', 1],
  ])('%s writes the buffered lines', async (end, code) => {
    const { child, connection, exit, output } = await runAndAsk('buffered', '/');
    await connection.until('done');
    if (end === 'SIGTERM') {
      child.kill('SIGTERM');
    } else {
      connection.send(get('/rejection'));
    }
    expect(await exit).toBe(code);
    expect(output()).toContain('"operation":"root"');
    expect(output().includes('"level":"fatal"')).toBe(code === 1);
    connection.socket.destroy();
  });

  test.concurrent('of a deferred application at a later attempt ends the process with 1', async () => {
    const process_ = await run('fails later');
    expect(await process_.exit).toBe(1);
    expect(process_.output()).toContain('"level":"fatal"');
    expect(process_.output()).toContain('wrong configuration');
  });
});

describe('the log of requests', () => {
  test.concurrent('has one line per request with the operation, without URL, headers or body', async () => {
    const process_ = await run('serve');
    const connection = process_.connect();
    connection.send(
      'POST /root?access_token=marker HTTP/1.1\r\nHost: marker\r\nAuthorization: Bearer marker\r\n' +
        'X-Request-Id: from-the-caller\r\nCookie: marker\r\nContent-Length: 6\r\n\r\nmarker',
    );
    await connection.until('done');
    await until(() => process_.output().includes('"operation"'));
    const lines = process_.output().match(/^\{.*$/gm) ?? [];
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-.*Z$/),
        app: 'test-app',
        requestId: 'from-the-caller',
        method: 'POST',
        status: 200,
        durationMs: expect.any(Number),
        operation: 'root',
        msg: 'POST root 200',
      },
    ]);
    connection.socket.destroy();
  });
});
