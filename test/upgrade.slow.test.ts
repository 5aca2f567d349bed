// requires: redis-server postgresql
// runs alone: it has deadlines of seconds under load
/**
 * Starts the previous release, fills its store and database, and replaces one process after the
 * other with this release, while users continue.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AppName,
  authorizeAsUser,
  createPageVisitor,
  createVirtualUser,
  type Member,
  manyUsers,
  type PostgresServer,
  postAs,
  processEnvironment,
  signatureHeaders,
  startBalancedSystem,
  startPostgresServer,
  until,
  userClient,
} from '@gatehouse/testing';
import { writeMasterKey } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runGatehouse } from '../apps/cli/test/run-gatehouse.ts';
import { extractPreviousRelease } from './previous-release.ts';

const USERS = 2;
const CLIENT = 'client-of-previous-release';
/** The steps of a virtual user that show pages, and those that need their result. */
const ofPages = /^(code|token|device|implicit|authorization_code|connectDevice|device_code)\b/;
const unlimited = '10000000/60';

describe.each([
  ['sqlite', 'SQLite'],
  ['redis', 'PostgreSQL'],
] as const)('the data of the previous release in %s and %s', (engine, database) => {
  let previous: string;
  let postgres: PostgresServer | undefined;
  let balanced: Awaited<ReturnType<typeof startBalancedSystem>>;
  let environment: Record<string, string>;

  beforeAll(async () => {
    previous = extractPreviousRelease();
    postgres = database === 'PostgreSQL' ? await startPostgresServer() : undefined;
    const directory = mkdtempSync(join(previous, 'data-'));
    const MASTER_KEY_FILE = writeMasterKey(directory);
    const COOKIE_KEYS_FILE = join(directory, 'cookie.keys');
    writeFileSync(COOKIE_KEYS_FILE, randomBytes(32).toString('hex'), { mode: 0o600 });
    balanced = await startBalancedSystem({
      engine,
      source: previous,
      bootstrap: manyUsers(USERS),
      environment: {
        MASTER_KEY_FILE,
        COOKIE_KEYS_FILE,
        ...(postgres && { DATABASE_URL: postgres.url }),
        SHUTDOWN_DELAY_SECONDS: '1',
        LOG_LEVEL: 'warn',
        CLIENT_RATE_LIMIT: unlimited,
        ADDRESS_RATE_LIMIT: unlimited,
        CLIENT_REQUESTS_PER_MINUTE: '100000',
        PAGE_REQUESTS_PER_MINUTE: '100000',
      },
    });
    environment = { STORE_URL: balanced.system.storeUrl, MASTER_KEY_FILE, DATA_DIR: directory };
  });
  afterAll(async () => {
    await balanced.stop();
    await postgres?.stop();
    rmSync(previous, { recursive: true });
  });

  async function replace(member: Member): Promise<void> {
    expect(await member.process.stop()).toBe(0);
    await member.start();
  }

  async function call(token: string, path: string, init: RequestInit = {}) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const reply = await fetch(`${balanced.gatewayUrl}${path}`, { ...init, headers });
    return { status: reply.status, body: await reply.json() };
  }

  async function post(path: '/token' | '/revoke', secureKey: string, form: object) {
    const url = `${balanced.authorizationServerUrl}${path}`;
    const reply = await postAs(url, { clientId: CLIENT, secureKey }, { ...form });
    // The previous release confirms a revocation without a body.
    const { access_token: token = '' } = JSON.parse((await reply.text()) || '{}');
    return { status: reply.status, token: String(token) };
  }
  const getToken = (secureKey: string) =>
    post('/token', secureKey, { grant_type: 'client_credentials' });

  async function callSigned(secureKey: string): Promise<number> {
    const query = 'pageSize=5';
    const headers = signatureHeaders({ clientId: CLIENT, secureKey }, query);
    return (await fetch(`${balanced.gatewayUrl}/api/device?${query}`, { headers })).status;
  }

  /** Runs a command of the previous release. */
  function previousCommand(...args: readonly string[]): { readonly secureKey: string } {
    const program = join(previous, 'apps', 'cli', 'src', 'main.ts');
    const output = execFileSync(process.execPath, [program, ...args, '--json'], {
      env: { ...processEnvironment, ...environment },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return JSON.parse(output);
  }

  /** A client with two keys and a removed one, whose tokens stay valid, a device and a session. */
  async function fill() {
    const settings = ['--org', 'org-1', '--name', 'Kept', '--grant-type', 'client_credentials'];
    const scopes = ['--scope', 'device:read', '--scope', 'device:write'];
    const { secureKey: removed } = previousCommand(
      'clients',
      'add',
      CLIENT,
      ...settings,
      ...scopes,
    );
    const [kept, revoked] = [await getToken(removed), await getToken(removed)];
    const { secureKey: second } = previousCommand('clients', 'rotate-key', CLIENT);
    const replace = ['--replace-oldest', '--keep-tokens'];
    const { secureKey: third } = previousCommand('clients', 'rotate-key', CLIENT, ...replace);
    expect((await post('/revoke', second, { token: revoked.token })).status).toBe(200);
    const body = '{"id":"pump-1","name":"Pump 1","productId":"pump","productName":"Pump"}';
    expect((await call(kept.token, '/device-instance', { method: 'POST', body })).status).toBe(200);
    const visitor = createPageVisitor();
    const user = userClient(0);
    await authorizeAsUser(authorizationUrl(user), user.user, visitor);
    return { removed, keys: [second, third], kept: kept.token, revoked: revoked.token, visitor };
  }

  function authorizationUrl({ client, redirectUri }: ReturnType<typeof userClient>): string {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: client.clientId,
      redirect_uri: redirectUri,
      scope: 'device:read',
    });
    return `${balanced.authorizationServerUrl}/authorize?${query}`;
  }

  test('continues to work while both releases run, and afterwards', async () => {
    const { authorizationServerUrl, gatewayUrl } = balanced;
    const { members } = balanced.system;
    const data = await fill();
    const users = Array.from({ length: USERS }, (_value, i) =>
      createVirtualUser({ ...userClient(i), authorizationServerUrl, gatewayUrl }),
    );
    const takeDisappointments = () => users.flatMap((user) => user.disappointments.splice(0));
    await Promise.all(users.map((user) => user.round()));
    expect(takeDisappointments()).toEqual([]);

    let working = true;
    async function replaceInUse(app: AppName): Promise<void> {
      working = true;
      const using = users.map(async (user) => {
        do {
          await user.round();
        } while (working);
      });
      try {
        for (const member of members.filter((each) => each.app === app)) {
          const requests = users.map((user) => user.requests);
          await until(() => users.every((user, i) => user.requests > (requests[i] ?? 0) + 1));
          await replace(member);
        }
      } finally {
        working = false;
        await Promise.all(using);
      }
    }
    // There is only one device service, so its calls pause.
    await Promise.all(members.filter(({ app }) => app === 'device-service').map(replace));
    await replaceInUse('authorization-server');
    // A sign-in whose pages come from both releases can fail, because they sign cookies differently.
    const steps = takeDisappointments().map(({ step }) => step);
    expect(steps.filter((step) => !ofPages.test(step))).toEqual([]);
    await replaceInUse('gateway');
    expect(takeDisappointments()).toEqual([]);
    expect(balanced.failures()).toEqual([]);

    expect(await call(data.kept, '/api/v1/device/pump-1')).toMatchObject({ status: 200 });
    expect((await call(data.revoked, '/api/v1/device/pump-1')).status).toBe(401);
    for (const secureKey of data.keys) {
      const { token } = await getToken(secureKey);
      expect((await call(token, '/api/v1/device/pump-1')).status).toBe(200);
      expect(await callSigned(secureKey)).toBe(200);
    }
    expect((await getToken(data.removed)).status).toBe(401);
    expect(await callSigned(data.removed)).toBe(401);
    const signedIn = await data.visitor.get(`${authorizationUrl(userClient(0))}&prompt=none`);
    expect(signedIn.location).toContain('code=');
    const { json } = await runGatehouse(environment, ['audit', 'list', '--json']);
    expect(json.entries.length).toBeGreaterThan(0);
  });
});
