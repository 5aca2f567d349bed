/**
 * Measures complete sign-ins: authorize, sign-in page, password, consent, code, token. Each one has
 * a new browser and address. The processor time is that of the server without its threads for password hashing.
 *
 *   node bench/sign-in/run.ts [rounds=5] [seconds=5]
 */
import { readdirSync, readFileSync } from 'node:fs';
import { authorizeAsUser, basic, createPageVisitor, userClient } from '@gatehouse/testing';
import { median } from '../machinery/percentile.ts';
import { addressOf, startBenchedServer, USERS } from './server.ts';

const ROUNDS = Number(process.argv[2] ?? 5);
const SECONDS = Number(process.argv[3] ?? 5);
const AT_ONCE = 4;
/** Code that is not compiled yet costs more, and a busy machine signs in only a few users a second. */
const WARM_UP_SIGN_INS = 400;

const server = await startBenchedServer(
  // For a profile: PROFILE='--cpu-prof --cpu-prof-dir=…'.
  process.env.PROFILE === undefined ? {} : { NODE_OPTIONS: process.env.PROFILE },
);
let next = 0;
await measure((done) => done < WARM_UP_SIGN_INS);
const rounds = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const ends = performance.now() + SECONDS * 1000;
  rounds.push(await measure(() => performance.now() < ends));
}
await server.stop();
const cost = median(rounds.map(({ milliseconds }) => milliseconds));
const hashing = median(rounds.map(({ hashingMilliseconds }) => hashingMilliseconds));
const rate = median(rounds.map(({ perSecond }) => perSecond));
console.log(
  '| sign-ins/s | processor ms without hashing | hashing ms | sign-ins per second and core |',
);
console.log('|---|---|---|---|');
console.log(
  `| ${rate.toFixed(1)} | ${cost.toFixed(1)} | ${hashing.toFixed(1)} | ${(1000 / cost).toFixed(0)} |`,
);
console.log(JSON.stringify({ bench: 'sign-in', rounds }));

async function measure(goesOn: (done: number) => boolean) {
  const before = processorTime(server.pid);
  const started = performance.now();
  let done = 0;
  const browse = async () => {
    while (goesOn(done)) {
      await signIn(next++);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, browse));
  const after = processorTime(server.pid);
  return {
    perSecond: (done * 1000) / (performance.now() - started),
    milliseconds: (after.others - before.others) / done,
    hashingMilliseconds: (after.hashing - before.hashing) / done,
  };
}

async function signIn(number: number): Promise<void> {
  const { client, redirectUri, user } = userClient(number % USERS);
  const visitor = createPageVisitor((url, init = {}) =>
    fetch(url, {
      ...init,
      headers: {
        'X-Forwarded-For': addressOf(number),
        ...Object.fromEntries(new Headers(init.headers)),
      },
    }),
  );
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: redirectUri,
    scope: 'device:read',
    prompt: 'consent',
  });
  const landed = await authorizeAsUser(`${server.url}/authorize?${query}`, user, visitor);
  const reply = await fetch(`${server.url}/token`, {
    method: 'POST',
    headers: { authorization: basic(client.clientId, client.secureKey) },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: landed.searchParams.get('code') ?? '',
      redirect_uri: redirectUri,
    }),
  });
  if (!reply.ok) {
    throw new Error(`${landed}: ${await reply.text()}`);
  }
  await reply.text();
}

/** Milliseconds of the pool of libuv, which hashes passwords, and of the other threads. */
function processorTime(pid: number) {
  const time = { hashing: 0, others: 0 };
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
    const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
    const milliseconds = (Number(fields[11]) + Number(fields[12])) * 10;
    time[name.startsWith('libuv') ? 'hashing' : 'others'] += milliseconds;
  }
  return time;
}
