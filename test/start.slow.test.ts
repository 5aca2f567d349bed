// requires: chromium curl openssl

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { codeOfApp, freePort, listen, until } from '@gatehouse/testing';
import { accessibilityProblems, launchBrowser } from '@gatehouse/testing/browser';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '..');
const dataDirectory = temporaryFolder();
let environment: Record<string, string | undefined>;

type Started = Awaited<ReturnType<typeof npmStart>>;

/** Runs `npm start` in its own process group, as a terminal does. */
async function npmStart() {
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
  return { group, output: () => output };
}

/** Sends SIGINT to the whole group once, as a terminal does. */
async function pressControlC({ group }: Started): Promise<void> {
  const exited = once(group, 'close');
  process.kill(-(group.pid ?? 0), 'SIGINT');
  await exited;
}

/** Pastes the line that starts so into a shell, and parses the reply. */
function pastePrinted({ output }: Started, start: string) {
  const command =
    output()
      .split('\n')
      .find((line) => line.startsWith(start)) ?? '';
  return JSON.parse(execFileSync('bash', ['-c', command], { encoding: 'utf8' }));
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

describe('npm start with an invalid setting', () => {
  const emptyDirectory = temporaryFolder();

  /** Runs until it exits. */
  function failedStart(changes: Record<string, string>) {
    const env = { ...environment, DATA_DIR: emptyDirectory, ...changes };
    const run = spawnSync('npm', ['start'], { cwd: root, env, encoding: 'utf8' });
    expect(run.status).toBe(1);
    const output = run.stdout + run.stderr;
    expect(output).not.toMatch(/ReferenceError| {4}at .*start/);
    return output;
  }

  test('names a misspelled variable, and creates no demo instead of the intended store', () => {
    const output = failedStart({ STORE_URL_FIL: '/marker/store-url' });
    expect(output).toContain('STORE_URL_FIL: looks like a misspelling of STORE_URL_FILE');
    expect(output).not.toContain('marker');
    expect(readdirSync(emptyDirectory)).toEqual([]);
  });

  test('names the port that is in use, and leaves no process running', async () => {
    const taken = createServer();
    const port = await listen(taken);
    const output = failedStart({ DEVICE_SERVICE_PORT: String(port) });
    taken.close();
    expect(output).toContain(`device-service did not start: port ${port} is in use. `);
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
    expect(pastePrinted(first, 'curl -s -u demo:')).toMatchObject({
      access_token: expect.stringMatching(/^[\w-]{43}$/),
      token_type: 'Bearer',
      expires_in: 7200,
    });
  });

  test.each([
    ['an access token', 'curl -s http'],
    ['a signed request', 'TIMESTAMP='],
  ])('prints a command that lists the devices with %s', (_name, command) => {
    const result = [{ id: 'demo-device-1', orgId: 'demo' }];
    expect(pastePrinted(first, command)).toMatchObject({ status: 200, code: 'success', result });
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
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
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

  test('prints the address of the console, which its user enters with an authenticator app', async () => {
    const [, home = ''] = /Console {15}(\S+)/.exec(first.output()) ?? [];
    const [, password = ''] = /with the password (\w+):/.exec(first.output()) ?? [];
    const [, username = ''] =
      /console, and sign in as (\w+) with the same password/.exec(first.output()) ?? [];
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(home);
      await page.getByLabel('Username').fill(username);
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      const secret = await page.locator('span.code').textContent();
      await page.getByLabel('Code from the app').fill(codeOfApp(secret?.replaceAll(' ', '') ?? ''));
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByText('Your recovery codes').waitFor();
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByText(`Signed in as ${username}`).waitFor();
      expect(new URL(page.url()).origin).toBe(home);
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
    expect(pastePrinted(second, 'curl -s http').result).toHaveLength(1);
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
    [launcher, 'SIGKILL'],
  ] as const)('start: every server stops after %s gets %s', async (layer, signal) => {
    const started = await npmStart();
    const closed = once(started.group, 'close');
    process.kill(layer === 'npm' ? (started.group.pid ?? 0) : processIn(started, layer), signal);
    await untilNothingListens();
    await closed;
    await until(() => isGroupGone(started.group));
  });

  test('run start:gateway: the gateway stops after npm is killed', async () => {
    const group = spawn('npm', ['run', 'start:gateway'], {
      cwd: root,
      env: environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await until(() => fetch(`http://127.0.0.1:${environment.GATEWAY_PORT}/time`));
    const closed = once(group, 'close');
    group.kill('SIGKILL');
    await untilNothingListens();
    await closed;
    await until(() => isGroupGone(group));
  });
});
