/**
 * Measures how a flood of password hashing slows down token requests. Rounds are quiet and flooded
 * alternately. In a flood, password grants hash on every core. Another process sends them, with the
 * lowest priority.
 *
 *   node bench/sign-in/flood.ts [rounds=7] [seconds=4]
 */
import { fork } from 'node:child_process';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { basic, userClient } from '@gatehouse/testing';
import { median, percentile } from '../machinery/percentile.ts';
import { addressOf, startBenchedServer, USERS } from './server.ts';

const ROUNDS = Number(process.argv[2] ?? 7);
const SECONDS = Number(process.argv[3] ?? 4);
const FLOODING = 16;
const FLOOD = '--flood';
const LOWEST_PRIORITY = 19;

if (process.argv[2] === FLOOD) {
  await flood(process.argv[3] ?? '');
} else {
  await compare();
}

async function compare(): Promise<void> {
  const server = await startBenchedServer();
  const rounds: Record<'quiet' | 'flooded', ReturnType<typeof tail>>[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const quiet = await tokenDurations(server.url);
    const flooding = fork(import.meta.filename, [FLOOD, server.url]);
    await sleep(500);
    const flooded = await tokenDurations(server.url);
    flooding.kill('SIGKILL');
    await sleep(500);
    if (round > 0) {
      rounds.push({ quiet: tail(quiet), flooded: tail(flooded) });
    }
  }
  await server.stop();
  const of = (value: (round: (typeof rounds)[number]) => number) => median(rounds.map(value));
  const shown = [
    of(({ quiet }) => quiet.p50),
    of(({ flooded }) => flooded.p50),
    of(({ quiet }) => quiet.p99),
    of(({ flooded }) => flooded.p99),
    of(({ quiet, flooded }) => flooded.p99 / quiet.p99),
  ];
  console.log('| p50 quiet | p50 flooded | p99 quiet | p99 flooded | ratio of p99 |');
  console.log('|---|---|---|---|---|');
  console.log(`| ${shown.map((value) => value.toFixed(2)).join(' | ')} |`);
  console.log(JSON.stringify({ bench: 'password-flood', rounds }));
}

function tail(durations: readonly number[]) {
  return { p50: percentile(durations, 0.5), p99: percentile(durations, 0.99) };
}

async function tokenDurations(url: string): Promise<number[]> {
  const durations: number[] = [];
  const started = performance.now();
  for (let i = 0; performance.now() - started < SECONDS * 1000; i += 1) {
    const sent = performance.now();
    await requestToken(url, i, { grant_type: 'client_credentials' });
    durations.push(performance.now() - sent);
  }
  return durations;
}

async function requestToken(url: string, number: number, parameters: Record<string, string>) {
  const { client } = userClient(number % USERS);
  const reply = await fetch(`${url}/token`, {
    method: 'POST',
    headers: {
      authorization: basic(client.clientId, client.secureKey),
      'X-Forwarded-For': addressOf(number),
    },
    body: new URLSearchParams(parameters),
  });
  const body = await reply.text();
  if (!reply.ok) {
    throw new Error(body);
  }
}

async function flood(url: string): Promise<void> {
  setPriority(LOWEST_PRIORITY);
  let next = 0;
  const signIn = async () => {
    for (;;) {
      const number = next++;
      const { user } = userClient(number % USERS);
      await requestToken(url, number, { grant_type: 'password', ...user });
    }
  };
  await Promise.all(Array.from({ length: FLOODING }, signIn));
}
