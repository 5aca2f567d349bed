/**
 * Runs the servers on a SQLite store, fills its small file system, and prints which requests still
 * work.
 */
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  authorizeAsUser,
  manyUsers,
  postAs,
  startConstellation,
  userClient,
} from '@gatehouse/testing';
import { runGatehouse } from './run-gatehouse.ts';

/** Less than the reserve of a SQLite store. */
const LEFT_BYTES = 6 * 1024 * 1024;

const [folder = ''] = process.argv.slice(2);
const filler = join(folder, 'filler');
const storeUrl = `sqlite:${join(folder, 'store.db')}`;
const system = await startConstellation({
  engine: { storeUrl, storedText: async () => '', stop: async () => undefined },
  bootstrap: manyUsers(4),
});

async function post(path: string, index: number, form: Record<string, string>) {
  const url = `${system.authorizationServerUrl}${path}`;
  const reply = await postAs(url, userClient(index).client, form);
  const text = await reply.text();
  return { status: reply.status, tokens: text === '' ? {} : JSON.parse(text) };
}
const issue = (index: number) => post('/token', index, { grant_type: 'client_credentials' });
const machineToken = async (index: number) => (await issue(index)).tokens.access_token as string;
async function call(token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${system.gatewayUrl}/api/device`, { headers })).status;
}
async function untilRefused(token: string): Promise<number> {
  const deadline = performance.now() + 1000;
  while ((await call(token)) === 200 && performance.now() < deadline) {
    await sleep(5);
  }
  return call(token);
}
async function readiness(): Promise<readonly string[]> {
  const states = system.members.slice(0, 2).map(async ({ operationsUrl }) => {
    const reply = await fetch(`${operationsUrl}/ready`);
    const { checks } = (await reply.json()) as { checks: { store: string } };
    return `${reply.status} ${checks.store}`;
  });
  return Promise.all(states);
}
const operate = async (words: readonly string[]) => {
  const { code, errors } = await runGatehouse(system.commandEnvironment, words);
  return `${code}${errors}`;
};

try {
  const { redirectUri, client, user } = userClient(0);
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: redirectUri,
  });
  const landing = await authorizeAsUser(
    `${system.authorizationServerUrl}/authorize?${query}`,
    user,
  );
  const code = landing.searchParams.get('code') ?? '';
  const redemption = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
  const { tokens } = await post('/token', 0, redemption);
  const disabled = await machineToken(1);
  const live = await machineToken(2);
  const before = [await call(tokens.access_token), await call(disabled), await call(live)];

  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(filler, Buffer.alloc(bavail * bsize - LEFT_BYTES));
  while ((await issue(3)).status !== 503) {
    await sleep(10);
  }
  const full = {
    readiness: await readiness(),
    live: await call(live),
    revoke: (await post('/revoke', 0, { token: tokens.refresh_token })).status,
    afterRevoke: await untilRefused(tokens.access_token),
    disable: await operate([
      'clients',
      'change',
      '--disable',
      userClient(1).client.clientId,
      '--yes',
    ]),
    afterDisable: await untilRefused(disabled),
    stillLive: await call(live),
    all: await operate(['tokens', 'revoke', '--all', '--yes']),
    afterAll: await untilRefused(live),
  };

  rmSync(filler);
  while ((await readiness()).some((state) => state !== '200 ok')) {
    await sleep(50);
  }
  const recovered = (await issue(3)).status;
  const output = await system.output();
  const lines = output.split('\n').filter((line) => /"msg":"store (full|available)"/.test(line));
  const log = lines
    .map((line) => JSON.parse(line))
    .map(({ app, msg, reason }) => ({ app, msg, reason }));
  process.stdout.write(JSON.stringify({ before, full, recovered, log }));
} finally {
  await system.stop();
}
