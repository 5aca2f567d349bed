// requires: chromium curl openssl
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, until } from '@gatehouse/testing';
import { accessibilityProblems, launchBrowser } from '@gatehouse/testing/browser';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '..');
const dataDirectory = mkdtempSync(join(tmpdir(), 'gatehouse-start-'));
let environment: Record<string, string | undefined>;

interface Started {
  readonly group: ChildProcess;
  readonly milliseconds: number;
  output(): string;
}

/** Runs `npm start` in its own process group, as a terminal does. */
async function npmStart(): Promise<Started> {
  const begun = performance.now();
  const group = spawn('npm', ['start'], {
    cwd: root,
    env: environment,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  group.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  group.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  await new Promise<void>((resolve, reject) => {
    group.stdout.on('data', () => output.includes('Press Ctrl-C to stop') && resolve());
    group.once('exit', () => reject(new Error(`npm start ended:\n${output}`)));
  });
  return { group, milliseconds: performance.now() - begun, output: () => output };
}

/** Sends SIGINT to the whole group once, as a terminal does. */
async function pressControlC({ group }: Started): Promise<void> {
  const exited = once(group, 'close');
  process.kill(-(group.pid ?? 0), 'SIGINT');
  await exited;
}

function printed(output: string, start: string): string {
  return output.split('\n').find((line) => line.startsWith(start)) ?? '';
}

function paste(command: string): { status: number | null; reply: string } {
  const { status, stdout } = spawnSync('bash', ['-c', command], { encoding: 'utf8' });
  return { status, reply: stdout };
}

function isGroupGone(group: ChildProcess): boolean {
  try {
    process.kill(-(group.pid ?? 0), 0);
    return false;
  } catch {
    return true;
  }
}

/** The id of the process in the group whose command line contains the text. */
function processIn({ group }: Started, text: string): number {
  const found = readdirSync('/proc').find((id) => {
    try {
      const [, , groupId] =
        readFileSync(`/proc/${id}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return (
        Number(groupId) === group.pid && readFileSync(`/proc/${id}/cmdline`, 'utf8').includes(text)
      );
    } catch {
      return false;
    }
  });
  if (found === undefined) {
    throw new Error(`No process runs ${text}.`);
  }
  return Number(found);
}

/** The start message, without the log around it. */
function message(output: string): string {
  return output.slice(
    output.indexOf('Gatehouse is running.'),
    output.indexOf('Press Ctrl-C to stop'),
  );
}

beforeAll(async () => {
  environment = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    DATA_DIR: dataDirectory,
    AUTHORIZATION_SERVER_PORT: String(await freePort()),
    GATEWAY_PORT: String(await freePort()),
    DEVICE_SERVICE_PORT: String(await freePort()),
  };
});
afterAll(() => rmSync(dataDirectory, { recursive: true, force: true }));

describe('npm start with an invalid setting', () => {
  /** Runs until it exits. */
  function failedStart(changes: Record<string, string>, ...options: string[]) {
    const directory = mkdtempSync(join(tmpdir(), 'gatehouse-failed-start-'));
    const { status, stdout, stderr } = spawnSync('npm', ['start', '--', ...options], {
      cwd: root,
      env: { ...environment, DATA_DIR: directory, ...changes },
      encoding: 'utf8',
    });
    const created = readdirSync(directory);
    rmSync(directory, { recursive: true, force: true });
    return { status, output: stdout + stderr, created };
  }

  test('names the invalid variable, exits with 1 and prints no stack', () => {
    const { status, output } = failedStart({ GATEWAY_PORT: 'nonsense' });
    expect(status).toBe(1);
    expect(output).toContain('GATEWAY_PORT: must be a port number');
    expect(output).not.toMatch(/ {4}at .*start/);
  });

  test('names the misspelled variable, and creates no demo instead of the intended store', () => {
    const { status, output, created } = failedStart({ STORE_URL_FIL: '/marker/store-url' });
    expect(status).toBe(1);
    expect(output).toContain('STORE_URL_FIL: looks like a misspelling of STORE_URL_FILE');
    expect(output).not.toContain('marker');
    expect(created).toEqual([]);
  });

  test('names the port that is in use, and leaves no process running', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const { status, output } = failedStart({ DEVICE_SERVICE_PORT: String(port) });
    taken.close();
    expect(status).toBe(1);
    expect(output).toContain(
      `device-service did not start: port ${port} is in use. ` +
        'Stop the program that uses it, or set DEVICE_SERVICE_PORT to a free port.',
    );
    expect(output).not.toMatch(/ReferenceError| {4}at .*start/);
  });
});

describe('npm start', () => {
  let first: Started;
  let second: Started;

  beforeAll(async () => {
    first = await npmStart();
  });
  afterAll(async () => {
    for (const started of [first, second]) {
      if (started !== undefined && !isGroupGone(started.group)) {
        process.kill(-(started.group.pid ?? 0), 'SIGKILL');
      }
    }
  });

  test('prints a command that gets an access token', () => {
    const { status, reply } = paste(printed(first.output(), 'curl -s -u demo:'));
    expect(status).toBe(0);
    expect(JSON.parse(reply)).toMatchObject({
      access_token: expect.stringMatching(/^[\w-]{43}$/),
      token_type: 'Bearer',
      expires_in: 7200,
    });
  });

  test('prints a command that lists the devices with an access token', () => {
    const { reply } = paste(printed(first.output(), 'curl -s http'));
    expect(JSON.parse(reply)).toMatchObject({
      status: 200,
      code: 'success',
      result: [{ id: 'demo-device-1', orgId: 'demo' }],
    });
  });

  test('prints a command that lists the devices with a signed request', () => {
    const { reply } = paste(printed(first.output(), 'TIMESTAMP='));
    expect(JSON.parse(reply)).toMatchObject({ status: 200, result: [{ id: 'demo-device-1' }] });
  });

  test('prints the address of the demo application, whose sign-in leads to the devices of the user', async () => {
    const [, username = '', password = ''] =
      /as (\w+) with the password (\w+):/.exec(first.output()) ?? [];
    const [, home = ''] = /Demo application {6}(\S+)/.exec(first.output()) ?? [];
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      const refusals: string[] = [];
      page.on(
        'console',
        (line) => line.type() === 'error' && refusals.push(`${line.text()} ${line.location().url}`),
      );
      await page.goto(home);
      expect(await page.title()).toBe('Demo application');
      expect(await accessibilityProblems(page)).toEqual([]);
      await page.getByRole('link', { name: 'Sign in' }).click();
      await page.getByLabel('Username').fill(username);
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.getByText('sent your browser here').waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      const callback = page.url();
      await page.reload();
      await page.getByRole('button', { name: 'Redeem it' }).click();
      await page.getByText('You are signed in.').waitFor();
      expect(await page.locator('pre').textContent()).toContain('demo-device-1');
      expect(await accessibilityProblems(page)).toEqual([]);
      await page.reload();
      expect(await page.locator('pre').textContent()).toContain('demo-device-1');
      // The callback redirects, because a second redemption of the code would revoke the token.
      await page.goto(callback);
      expect(page.url()).toBe(`${home}/`);
      expect(await page.locator('pre').textContent()).toContain('demo-device-1');
      expect(refusals).toEqual([]);
    } finally {
      await browser.close();
    }
  });

  test('writes no secret into its log', () => {
    const log = first.output().replace(message(first.output()), '');
    const [, secureKey = ''] = /-u demo:(\w+)/.exec(message(first.output())) ?? [];
    const [, password = ''] = /with the password (\w+):/.exec(first.output()) ?? [];
    expect(log).toContain('"operation":"token"');
    expect(log).not.toContain(secureKey);
    expect(log).not.toContain(password);
  });

  test('stops at Ctrl-C with one message, and the next start prints the same and finds the same data', async () => {
    await pressControlC(first);
    expect(isGroupGone(first.group)).toBe(true);
    expect(first.output()).not.toMatch(/"level":"(error|fatal)"/);
    expect(first.output().match(/^Stopping Gatehouse …$/gm)).toHaveLength(1);
    second = await npmStart();
    expect(message(second.output())).toBe(message(first.output()));
    const { reply } = paste(printed(second.output(), 'curl -s http'));
    expect(JSON.parse(reply).result).toHaveLength(1);
    expect(second.output()).not.toContain('ended unexpectedly');
  });

  test('names the app that ended unexpectedly, and stops the others', async () => {
    const closed = once(second.group, 'close');
    process.kill(processIn(second, 'apps/device-service/src/main.ts'), 'SIGKILL');
    expect(await closed).toEqual([1, null]);
    expect(isGroupGone(second.group)).toBe(true);
    expect(second.output()).toContain(
      'The device-service ended unexpectedly (SIGKILL). Stopping the other apps.',
    );
  });
});

describe('npm', () => {
  const launcher = 'scripts/launch.mjs';

  /** Resolves when nothing listens on any port of the installation. */
  async function untilNothingListens(): Promise<void> {
    const { AUTHORIZATION_SERVER_PORT, GATEWAY_PORT, DEVICE_SERVICE_PORT } = environment;
    for (const port of [AUTHORIZATION_SERVER_PORT, GATEWAY_PORT, DEVICE_SERVICE_PORT]) {
      await until(() =>
        fetch(`http://127.0.0.1:${port}/`).then(
          () => false,
          () => true,
        ),
      );
    }
  }

  test.each([
    ['npm', 'SIGTERM'],
    ['npm', 'SIGKILL'],
    [launcher, 'SIGTERM'],
    [launcher, 'SIGKILL'],
  ] as const)(
    'start: every server stops after %s gets %s',
    async (layer, signal) => {
      const started = await npmStart();
      const closed = once(started.group, 'close');
      process.kill(layer === 'npm' ? (started.group.pid ?? 0) : processIn(started, layer), signal);
      await untilNothingListens();
      await closed;
      await until(() => isGroupGone(started.group));
    },
    120_000,
  );

  test.each(['SIGTERM', 'SIGKILL'] as const)(
    'run start:gateway: the gateway stops after npm gets %s',
    async (signal) => {
      const group = spawn('npm', ['run', 'start:gateway'], {
        cwd: root,
        env: environment,
        detached: true,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const time = `http://127.0.0.1:${environment.GATEWAY_PORT}/time`;
      await until(() =>
        fetch(time).then(
          () => true,
          () => false,
        ),
      );
      const closed = once(group, 'close');
      group.kill(signal);
      await untilNothingListens();
      await closed;
      await until(() => isGroupGone(group));
    },
    120_000,
  );
});
