import { spawnSync } from 'node:child_process';
import { freePort, isNightly } from '@gatehouse/testing';
import { launchBrowser } from '@gatehouse/testing/browser';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { root } from '../source-tree.ts';
import { createTier, docker, serviceOf, type Tier } from './tier.ts';

const START_LIMIT_MILLISECONDS = 20_000;

let tier: Tier;
let milliseconds: number;

const consoleUrl = `http://localhost:${await freePort()}`;

beforeAll(async () => {
  tier = await createTier({
    environment: {
      CONSOLE_URL: consoleUrl,
      CONSOLE_PORT: new URL(consoleUrl).port,
      COMPOSE_FILE: 'docker-compose.yml:test/compose/console-port.yml',
    },
  });
  milliseconds = await tier.up();
}, 180_000);
afterAll(() => tier.remove());

const running = async () =>
  (await tier.containers()).map((container) => [serviceOf(container), container] as const);

/** Runs a command in the folder and with the variables of the tier. */
function paste(command: string): string {
  const options = { encoding: 'utf8', cwd: root, env: tier.environment } as const;
  return spawnSync('bash', ['-c', command], options).stdout;
}

describe('docker compose up', () => {
  test('has every container healthy', async () => {
    process.stdout.write(`docker compose up, all healthy: ${milliseconds} ms\n`);
    if (isNightly) {
      expect(milliseconds).toBeLessThan(START_LIMIT_MILLISECONDS);
    }
    const states = (await running()).map(([service, { State }]) => [service, State.Health?.Status]);
    const services = ['authorization-server', 'gateway', 'device-service', 'nginx', 'redis'];
    expect(Object.fromEntries(states)).toEqual({
      ...Object.fromEntries([...services, 'postgres'].map((service) => [service, 'healthy'])),
      secrets: undefined,
    });
  });

  test('publishes the two public ports, on loopback, and nothing else', async () => {
    const published = (await running()).flatMap(([service, { NetworkSettings }]) =>
      Object.entries(NetworkSettings.Ports).flatMap(([port, bindings]) =>
        (bindings ?? []).map(({ HostIp, HostPort }) => [service, port, `${HostIp}:${HostPort}`]),
      ),
    );
    const host = (url: string) => `127.0.0.1:${new URL(url).port}`;
    expect(published.sort()).toEqual([
      ['nginx', '8844/tcp', host(tier.gatewayUrl)],
      ['nginx', '9000/tcp', host(tier.authorizationServerUrl)],
    ]);
  });

  test('names the port that is in use, and starts nothing twice', async () => {
    const port = new URL(tier.gatewayUrl).port;
    const other = await createTier({ environment: { GATEWAY_PORT: port } });
    try {
      await expect(other.up()).rejects.toThrow(new RegExp(`127\\.0\\.0\\.1:${port}.*already`, 's'));
    } finally {
      await other.remove();
    }
  });
});

test.each(['authorization-server', 'gateway'])(
  'a second container of %s, which would need the same socket, is rejected',
  async (service) => {
    const other = await createTier();
    try {
      // Without other services, because Docker can create them after `remove`.
      const words = ['up', '--no-build', '--no-start', '--no-deps', '--scale', `${service}=2`];
      const scaled = other.compose(...words, service);
      await expect(scaled).rejects.toThrow(`${other.project}-${service}-1`);
    } finally {
      await other.remove();
    }
  },
);

let message: string;

describe('the demo', () => {
  test('does not exist before an operator asks for it', async () => {
    for (const kind of ['clients', 'users', 'organizations']) {
      expect(await tier.gatehouse(kind, 'list')).toEqual({ [kind]: [] });
    }
  });

  test('prints the commands of npm start, and the same commands again', async () => {
    message = await tier.compose('run', '--rm', '-T', 'demo');
    expect(await tier.compose('run', '--rm', '-T', 'demo')).toBe(message);
    expect(message).toContain('Gatehouse is running.');
    expect(message.match(/^\d\. /gm)).toHaveLength(5);
    expect(message).toContain(`\n${consoleUrl}\n`);
  });

  test.each([
    ['an access token', 'curl -s -u demo:', { token_type: 'Bearer', expires_in: 7200 }],
    ['the devices, with a token', 'curl -s http', { result: [{ id: 'demo-device-1' }] }],
    ['the devices, with a signed request', 'TIMESTAMP=', { result: [{ id: 'demo-device-1' }] }],
  ])('prints a command that gets %s', (_name, start, reply) => {
    const command = message.split('\n').find((line) => line.startsWith(start)) ?? '';
    expect(JSON.parse(paste(command))).toMatchObject(reply);
  });

  test('prints the address of the demo application, whose sign-in ends with the devices of the user', async () => {
    await tier.compose('up', '--detach', '--no-build', '--wait', 'demo-application');
    const [, username = '', password = ''] =
      /as (\w+) with the password (\w+):/.exec(message) ?? [];
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(/:\n\n(http\S+)\n/.exec(message)?.[1] ?? '');
      await page.getByRole('link', { name: 'Sign in' }).click();
      await page.getByLabel('Username').fill(username);
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.getByRole('button', { name: 'Redeem it' }).click();
      await page.getByText('You are signed in.').waitFor();
      expect(await page.locator('pre').textContent()).toContain('demo-device-1');
    } finally {
      await browser.close();
    }
  });

  test('is rejected on a public address', async () => {
    const words = ['run', '--rm', '-T', '--no-deps', '--env', 'GATEWAY_URL=https://api.example'];
    await expect(tier.compose(...words, 'demo')).rejects.toThrow(
      /must be loopback addresses, because the demo is insecure/,
    );
  });
});

describe('the profile console', () => {
  test('publishes the console on loopback, and lets it reach only what it needs', async () => {
    await tier.compose('--profile', 'console', 'up', '--detach', '--no-build', '--wait');
    const { NetworkSettings: ofNginx } = await tier.container('console-nginx');
    const { NetworkSettings: ofConsole } = await tier.container('console');
    expect(Object.values(ofNginx.Ports).flatMap((bindings) => bindings ?? [])).toEqual([
      { HostIp: '127.0.0.1', HostPort: new URL(consoleUrl).port },
    ]);
    expect(Object.values(ofConsole.Ports).filter(Boolean)).toEqual([]);
    const networks = (names: readonly string[]) => names.map((name) => `${tier.project}_${name}`);
    expect(Object.keys(ofNginx.Networks).sort()).toEqual(networks(['console', 'edge']));
    expect(Object.keys(ofConsole.Networks).sort()).toEqual(
      networks(['console', 'service', 'store']),
    );
  });

  test('sends the browser to the sign-in page of the authorization server', async () => {
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(consoleUrl);
      await page.getByLabel('Username').waitFor();
      expect(page.url()).toContain(tier.authorizationServerUrl);
    } finally {
      await browser.close();
    }
  });
});

describe('a wrong configuration', () => {
  test('ends the app with the name of the variable, and up names the container', async () => {
    const wrong = await createTier({ environment: { SECURITY_PROFILE: 'nonsense' } });
    try {
      await expect(wrong.up()).rejects.toThrow(/(authorization-server|gateway)-1.*unhealthy/s);
      const log = await wrong.compose('logs', '--no-log-prefix', 'gateway');
      expect(log).toContain('SECURITY_PROFILE: must be compatible or strict');
    } finally {
      await wrong.remove();
    }
  }, 180_000);
});

describe('the image', () => {
  test('is one for every app, and does not need a shell', async () => {
    const ours = (await running()).filter(
      ([service]) => !['nginx', 'console-nginx', 'redis', 'postgres'].includes(service),
    );
    const images = await Promise.all(
      ours.map(([, { Id }]) => docker('inspect', '--format', '{{.Image}}', Id)),
    );
    expect(new Set(images).size).toBe(1);
    for (const [, { Config }] of ours) {
      expect(Config.Entrypoint?.slice(0, 2)).toEqual(['/usr/local/bin/node', '--disable-sigusr1']);
      expect(Config.Healthcheck?.Test[0]).not.toBe('CMD-SHELL');
    }
  });
});

test('the command of the demo that stops everything leaves no container', async () => {
  paste(/To stop, run (.+?)\. /.exec(message)?.[1] ?? '');
  const filter = `label=com.docker.compose.project=${tier.project}`;
  expect(await docker('ps', '--all', '--quiet', '--filter', filter)).toBe('');
}, 60_000);
