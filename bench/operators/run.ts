/**
 * Measures lists and searches of clients and users, through the management API and the screens of a
 * console, on both engines. The cases alternate, so that other load affects all of them.
 *
 *   node bench/operators/run.ts [records of each kind=100000] [requests=300] [sqlite|redis]
 */
import { readdirSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { createTokenFetch } from '@gatehouse/client/source';
import { type Identity, openIdentity } from '@gatehouse/identity';
import { createStore, type Store } from '@gatehouse/store';
import {
  type Constellation,
  createPageVisitor,
  type StoreEngineName,
  startConstellation,
  storeEngines,
} from '@gatehouse/testing';
import { signInAt } from '../../apps/console/test/installation.ts';
import { milliseconds, print, timed } from '../device-service/printing.ts';
import { percentile } from '../machinery/percentile.ts';
import { seed } from './seed.ts';

const RECORDS = Number(process.argv[2] ?? 100_000);
const REQUESTS = Number(process.argv[3] ?? 300);
const ENGINES = storeEngines.filter((name) => name === (process.argv[4] ?? name));
const WARM_UP = 10;
/** A caller may send 1200 requests a minute. */
const MACHINES = 40;
const GOAL_MILLISECONDS = 300;

const operator = { username: 'olga', password: 'correct horse battery' };
const machines = Array.from({ length: MACHINES }, (_, i) => ({
  ...{ clientId: `machine-${i}`, secureKey: `machineKey0123456789abc${i}`, name: 'Machine' },
  ...{ orgId: 'operations', grantTypes: ['client_credentials'], scopes: ['operator:read'] },
}));

interface Case {
  readonly kind: 'clients' | 'users';
  readonly title: string;
  /** A different one for each request. */
  readonly query: (i: number) => Readonly<Record<string, string>>;
  readonly isPage?: boolean;
  /** By default, something. */
  readonly finds?: 'something' | 'nothing' | 'perhaps';
}

for (const engine of ENGINES) {
  const system = await startConstellation({
    engine,
    apps: ['authorization-server', 'console'],
    bootstrap: {
      organizations: [{ id: 'operations', name: 'Operations' }],
      clients: machines,
      users: [{ ...operator, name: 'Olga', orgId: 'operations', roles: ['operations'] }],
      operators: { roles: ['operations'] },
    },
    environment: { TRUSTED_PROXIES: '127.0.0.1,::1', LOG_LEVEL: 'warn' },
  });
  const store = createStore(system.storeUrl);
  try {
    await measure(engine, system, store);
  } finally {
    await store.close();
    await system.stop();
  }
}

async function measure(engine: StoreEngineName, system: Constellation, store: Store) {
  const { masterKey, consoleUrl } = system;
  const identity = openIdentity({ store, masterKey, consoleUrl });
  const samples = await seed(identity, RECORDS, await passwordHashOf(identity));
  const call = await createCaller(system);
  const cases = createCases(samples, {
    clients: await cursorsOf('clients', call),
    users: await cursorsOf('users', call),
  });
  const { pid } = system.member('console').process;
  const times = cases.map((): number[] => []);
  const busyTimes = cases.map((): number[] => []);
  for (let i = 0; i < WARM_UP + REQUESTS; i += 1) {
    for (const [at, each] of cases.entries()) {
      const busyBefore = busyMilliseconds(pid);
      const took = await timed(() => call(each, i));
      if (i >= WARM_UP) {
        times[at]?.push(took);
        busyTimes[at]?.push(busyMilliseconds(pid) - busyBefore);
      }
    }
  }
  print(`\n| ${engine} | p50 ms | p99 ms | largest ms | processor p50, p99 | |`);
  print('|---|---|---|---|---|---|');
  for (const [at, { kind, title }] of cases.entries()) {
    const all = times[at] ?? [];
    const [half, most, largest] = [0.5, 0.99, 1].map((share) => percentile(all, share));
    const isMet = (most ?? Number.NaN) <= GOAL_MILLISECONDS;
    const cells = [half, most, largest].map((value) => milliseconds(value ?? Number.NaN));
    const busy = [0.5, 0.99].map((share) => milliseconds(percentile(busyTimes[at] ?? [], share)));
    print(
      `| ${kind}, ${title} | ${cells.join(' | ')} | ${busy.join(', ')} | ${isMet ? 'met' : 'missed'} |`,
    );
  }
  print(`Load average: ${loadavg()[0]?.toFixed(1)}`);
  await measureUpgrade(system, store, samples.orgIds, call);
}

/** The processor time of all threads. Unlike the latency, it hardly depends on other load. */
function busyMilliseconds(pid: number): number {
  const nanoseconds = readdirSync(`/proc/${pid}/task`).map((task) =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e6;
}

async function passwordHashOf({ users }: Identity): Promise<string> {
  return (await users.findByUsername(operator.username))?.passwordHash ?? '';
}

/** Sends requests of machines to the API, and those of a signed-in operator to screens. */
async function createCaller({ consoleUrl, authorizationServerUrl }: Constellation) {
  const fetches = machines.map(({ clientId, secureKey: clientSecret }) =>
    createTokenFetch({
      ...{ gateway: consoleUrl, tokenEndpoint: `${authorizationServerUrl}/token` },
      // The first search after an upgrade takes longer than others.
      ...{ clientId, clientSecret, deadlineMilliseconds: 600_000 },
    }),
  );
  const visitor = createPageVisitor();
  await signInAt(visitor, `${consoleUrl}/users`, operator);
  let sent = 0;
  return async ({ kind, query, isPage, finds = 'something' }: Case, i: number) => {
    sent += 1;
    const parameters = `/${kind}?${new URLSearchParams(query(i))}`;
    // Also the requests of an address are limited.
    const headers = { 'x-forwarded-for': `10.0.${(sent >> 8) & 255}.${sent & 255}` };
    const send = fetches[sent % fetches.length] ?? fetch;
    const address = `${consoleUrl}${isPage ? '' : '/admin/v1'}${parameters}`;
    const { status, body } = isPage
      ? await visitor.get(address, headers)
      : await send(address, { headers }).then(async (reply) => ({
          ...{ status: reply.status, body: await reply.text() },
        }));
    const { items, next } = isPage || status !== 200 ? {} : (JSON.parse(body) as Listed);
    const isFound = isPage ? body.includes('<tbody') : (items?.length ?? 0) > 0 || !!next;
    if (status !== 200 || !['perhaps', isFound ? 'something' : 'nothing'].includes(finds)) {
      throw new Error(`The reply to ${address} is not as expected: ${status} ${body}`);
    }
    return { next };
  };
}

interface Listed {
  readonly items?: readonly unknown[];
  readonly next?: string;
}

type Caller = Awaited<ReturnType<typeof createCaller>>;

/** Of all pages of 1000. */
async function cursorsOf(kind: Case['kind'], call: Caller): Promise<readonly string[]> {
  const cursors: string[] = [];
  for (let next: string | undefined; ; ) {
    const query = () => ({ limit: '1000', ...(next !== undefined && { cursor: next }) });
    ({ next } = await call({ kind, title: '', query }, 0));
    if (next === undefined) {
      return cursors;
    }
    cursors.push(next);
  }
}

type Samples = Awaited<ReturnType<typeof seed>>;

function createCases(samples: Samples, cursors: Record<Case['kind'], readonly string[]>): Case[] {
  const pick = (list: readonly string[], i: number) => list[(i * 7919) % list.length] ?? '';
  return (['clients', 'users'] as const).flatMap((kind): Case[] => {
    const { names, ids, addresses } = samples[kind];
    const start = (list: readonly string[], i: number) => pick(list, i).slice(0, 3 + (i % 12));
    return [
      { kind, title: 'first page', query: () => ({}) },
      { kind, title: 'deep cursor', query: (i) => ({ cursor: pick(cursors[kind], i) }) },
      { kind, title: 'start of a name', query: (i) => ({ search: start(names, i) }) },
      { kind, title: 'one letter', query: (i) => ({ search: pick(names, i).slice(0, 1) }) },
      {
        ...{ kind, title: kind === 'users' ? 'start of a username' : 'start of an id' },
        query: (i) => ({ search: start(ids, i) }),
      },
      ...(addresses.length === 0
        ? []
        : [
            {
              kind,
              title: 'start of an address',
              query: (i: number) => ({ search: start(addresses, i) }),
            },
          ]),
      { kind, title: 'one organization', query: (i) => ({ orgId: pick(samples.orgIds, i) }) },
      {
        ...{ kind, title: 'start of a name in one organization', finds: 'perhaps' },
        query: (i) => ({ search: start(names, i), orgId: pick(samples.orgIds, i) }),
      },
      { kind, title: 'disabled (1 %)', query: () => ({ disabled: 'true' }) },
      {
        ...{ kind, title: 'disabled in one organization, one letter', finds: 'perhaps' },
        query: (i) => ({
          ...{ search: pick(names, i).slice(0, 1), disabled: 'true' },
          orgId: pick(samples.orgIds, i),
        }),
      },
      { kind, title: 'no match', finds: 'nothing', query: (i) => ({ search: `zzz-none-${i}` }) },
      { kind, title: 'screen, first page', isPage: true, query: () => ({}) },
      {
        ...{ kind, title: 'screen, start of a name', isPage: true },
        query: (i) => ({ search: start(names, i) }),
      },
    ];
  });
}

/** The first search in records of a release without indexes of names creates them. */
async function measureUpgrade(
  system: Constellation,
  store: Store,
  orgIds: readonly string[],
  call: Caller,
) {
  const running = system.member('console');
  await running.process.stop();
  for (const kind of ['client', 'user']) {
    await store.delete([`${kind}s-indexed`, `${kind}-names`]);
    await store.delete(orgIds.map((orgId) => `${kind}s-of:${orgId}`));
  }
  await running.start();
  const { pid } = running.process;
  for (const kind of ['clients', 'users'] as const) {
    const query = () => ({ search: 'm' });
    const search = () => timed(() => call({ kind, title: '', query }, 0));
    const before = busyMilliseconds(pid);
    const first = await search();
    const busy = busyMilliseconds(pid) - before;
    print(
      `First search of ${kind} after an upgrade: ${milliseconds(first)} ms (processor ${milliseconds(busy)}), then ${milliseconds(await search())} ms`,
    );
  }
}
