/**
 * What needs attention in the records of an installation: weak clients, forgotten keys, operators
 * with one factor, tokens in URLs, and a store that may lose writes. The command `doctor` and the
 * console share these checks. Those of files, variables and addresses are in the command line.
 */
import {
  type Client,
  demoProblems,
  grantFacts,
  type Identity,
  isOperator,
  type User,
} from '@gatehouse/identity';
import { StoreFullError } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';
import type { Dependencies } from './operator.ts';

/** The kinds of findings by severity, with the advice of each: the consequence, then what to do. */
export const findingAdvice = {
  /** Requests fail, data can be lost, or an attacker gains something. Act now. */
  error: {
    demo_in_production:
      'Others may know the secrets of the demo. A server with a public address does not start. Disable the demo client and the demo user.',
    operator_has_one_factor:
      'The user cannot use the console, and a stolen password is enough for every other application. Let the user sign in to the console, which asks for a second factor.',
  },
  /** This will fail, or is weaker than it needs to be. Plan a change. */
  warning: {
    store_may_lose_writes:
      'After a restart or failover, revoked credentials could be valid again. Change the settings of Redis as the finding describes.',
    store_nearly_full:
      'A full store accepts no new tokens and no sign-ins. Raise maxmemory (Redis), or free disk space (SQLite).',
    client_uses_md5:
      'MD5 is broken, and the strict security profile rejects it. Run gatehouse clients change CLIENT --signature-algorithm HMAC-SHA-256.',
    client_has_no_key:
      'The client has no secure key and no public key, so no server accepts it. Run gatehouse clients rotate-key CLIENT, or disable it.',
    token_in_query:
      'URLs reach logs and other services, and tokens in them are rejected. Send tokens in the header Authorization.',
    key_unused:
      'Nobody would notice if the key were stolen. Remove it: gatehouse clients remove-key CLIENT KEY.',
  },
  /** Worth knowing, or not checked. */
  notice: {
    client_uses_version_1:
      'Version 1 does not sign method and path. Others can send a captured request to another operation. Run gatehouse clients change CLIENT --signature-algorithm HMAC-SHA-256.',
    client_has_weak_grant:
      'The password grant gives the password to the application. The implicit grant puts tokens into URLs. Use the authorization code flow (RFC 9700).',
    key_old:
      'The longer a key is used, the more people and files have seen it. Rotate it: gatehouse clients rotate-key CLIENT.',
  },
} as const;

export const findingSeverities = ['error', 'warning', 'notice'] as const;
type FindingSeverity = (typeof findingSeverities)[number];
type RecordFindingId = {
  [Each in FindingSeverity]: keyof (typeof findingAdvice)[Each];
}[FindingSeverity];

/** One problem of an installation, with its fix. Never contains a secret. */
export type RecordFinding = ReturnType<typeof finding>;

export interface FoundObject {
  readonly kind: 'client' | 'user';
  readonly id: string;
  readonly name: string;
  readonly keyId?: string;
}

/**
 * @param what the problem, with its names and figures
 * @param objects what has the problem. An old or unused key is one of its client
 */
function finding(id: RecordFindingId, what: string, objects: readonly FoundObject[] = []) {
  const severity = findingSeverities.find((each) => id in findingAdvice[each]) ?? 'error';
  const advice: Readonly<Record<string, string>> = findingAdvice[severity];
  return { id, severity, what, fix: advice[id] ?? '', objects };
}

const DAY_SECONDS = 24 * 60 * 60;
const UNUSED_DAYS = 90;
const OLD_DAYS = 365;
const NEARLY_FULL_PERCENT = 80;
/** So that a list of all clients does not occupy the store for long. */
const PAGE = 500;
const KEYS_AT_ONCE = 50;
const KEPT_MILLISECONDS = 30_000;

export function createFindingActs(
  { identity, now }: Dependencies,
  context: { readonly isPublic?: boolean; readonly storeWarnings?: () => readonly string[] },
) {
  async function examine(): Promise<readonly RecordFinding[]> {
    const examined = await Promise.all([
      examineStore(identity, context.storeWarnings?.() ?? []),
      examineRecords(identity, { isPublic: context.isPublic === true, now }),
      examineQueryTokens(identity, now),
    ]);
    return errorsFirst(examined.flat());
  }

  const kept = new LRUCache<'findings', readonly RecordFinding[]>({
    ...{ max: 1, ttl: KEPT_MILLISECONDS, ttlResolution: 0, perf: { now } },
    ...{ allowStale: true, noDeleteOnFetchRejection: true, fetchMethod: examine },
  });
  return {
    /**
     * Errors first. It reads all clients and users, so only the first call waits for it. A later one
     * gets the last findings, and starts again if they are older than 30 seconds.
     */
    list: () => kept.forceFetch('findings'),
  };
}

export function errorsFirst<Found extends { readonly severity: FindingSeverity }>(
  found: readonly Found[],
): readonly Found[] {
  return findingSeverities.flatMap((each) => found.filter(({ severity }) => severity === each));
}

/**
 * The space of the store, and what it warned of.
 *
 * @throws StoreUnavailableError
 */
export async function examineStore(
  { store }: Pick<Identity, 'store'>,
  warnings: readonly string[],
): Promise<readonly RecordFinding[]> {
  const { usedBytes, maximumBytes = Number.POSITIVE_INFINITY } = await store
    .ping()
    .catch((error) => {
      if (error instanceof StoreFullError) {
        return { usedBytes: 1, maximumBytes: 1 };
      }
      throw error;
    });
  const percent = Math.floor((usedBytes / maximumBytes) * 100);
  const isNearlyFull = percent >= NEARLY_FULL_PERCENT;
  return [
    ...(isNearlyFull
      ? [finding('store_nearly_full', `The store uses ${percent} % of its space.`)]
      : []),
    ...warnings.map((what) => finding('store_may_lose_writes', what)),
  ];
}

/**
 * Weak settings of the enabled clients and users. One finding names all objects of a kind.
 *
 * @param options.isPublic whether clients reach the servers at a public address
 * @throws StoreUnavailableError
 */
export async function examineRecords(
  identity: Identity,
  { isPublic, now }: { readonly isPublic: boolean; readonly now: () => number },
): Promise<readonly RecordFinding[]> {
  const { clients, users } = identity;
  const found = new Map<RecordFindingId, FoundObject[]>();
  const add = (id: RecordFindingId, object: FoundObject) => {
    const objects = found.get(id) ?? [];
    objects.push(object);
    found.set(id, objects);
  };
  for await (const client of pagesOf<Client>((query) => clients.page(query))) {
    for (const id of client.enabled ? weaknessesOf(client, isPublic, identity) : []) {
      add(id, clientObject(client));
    }
    for (const [id, keyId] of client.enabled ? await neglectedKeys(client, identity, now) : []) {
      add(id, { ...clientObject(client), keyId });
    }
  }
  const settings = await identity.settings.read();
  for await (const user of pagesOf<User>((query) => users.page(query))) {
    if (user.enabled && isOperator(user.roles, settings) && !(await hasTwo(user, identity))) {
      add('operator_has_one_factor', { kind: 'user', id: user.userId, name: user.username });
    }
  }
  const demo = isPublic ? await demoProblems(identity) : [];
  return [
    ...demo.map(({ name, message }) => finding('demo_in_production', `${name} ${message}.`)),
    ...[...found].map(([id, objects]) => finding(id, named(objects), objects)),
  ];
}

const named = (objects: readonly FoundObject[]) => {
  const names = objects.map(({ kind, id, name, keyId }) =>
    [kind === 'client' ? id : name, keyId].filter(Boolean).join(' '),
  );
  return `${objects[0]?.kind === 'user' ? 'Users' : 'Clients'}: ${names.join(', ')}.`;
};

async function* pagesOf<Stored>(
  read: (query: {
    readonly after: string | undefined;
    readonly limit: number;
  }) => Promise<{ readonly items: readonly Stored[]; readonly next?: string | undefined }>,
): AsyncGenerator<Stored> {
  let after: string | undefined;
  do {
    const { items, next } = await read({ after, limit: PAGE });
    yield* items;
    after = next;
  } while (after !== undefined);
}

const clientObject = ({ clientId, name }: Client): FoundObject => ({
  kind: 'client',
  id: clientId,
  name,
});

function weaknessesOf(
  client: Client,
  isPublic: boolean,
  { clients }: Pick<Identity, 'clients'>,
): readonly RecordFindingId[] {
  const isSigning = client.keys.some(({ state }) => state === 'active');
  const kinds: readonly (readonly [RecordFindingId, boolean])[] = [
    ['client_uses_md5', isSigning && client.signatureAlgorithm === 'MD5'],
    ['client_uses_version_1', isPublic && isSigning && client.signatureAlgorithm === 'SHA-256'],
    ['client_has_weak_grant', client.grantTypes.some((type) => grantFacts(type).isLegacy)],
    ['client_has_no_key', !client.public && clients.keyIds(client).length === 0],
  ];
  return kinds.flatMap(([id, isFound]) => (isFound ? [id] : []));
}

/** Keys of a known age that are old, or that nobody used for a long time. */
async function neglectedKeys(
  client: Client,
  { clients, lastUse }: Pick<Identity, 'clients' | 'lastUse'>,
  now: () => number,
): Promise<readonly (readonly [RecordFindingId, string])[]> {
  const daysSince = (seconds: number) => (now() / 1000 - seconds) / DAY_SECONDS;
  const aged = clients
    .describeKeys(client)
    .filter(({ createdAt = Number.POSITIVE_INFINITY }) => daysSince(createdAt) >= UNUSED_DAYS)
    .slice(0, KEYS_AT_ONCE);
  const found = aged.map(async ({ keyId, createdAt = 0 }) => {
    const usedAt = (await lastUse.ofKey(client.clientId, keyId)) ?? createdAt;
    if (daysSince(usedAt) >= UNUSED_DAYS) {
      return [['key_unused', keyId] as const];
    }
    return daysSince(createdAt) >= OLD_DAYS ? [['key_old', keyId] as const] : [];
  });
  return (await Promise.all(found)).flat();
}

async function hasTwo({ userId }: User, { factors }: Pick<Identity, 'factors'>): Promise<boolean> {
  const { app, passkeys } = await factors.describe(userId);
  return app !== undefined || passkeys.length > 0;
}

/** The gateway rejects them in the strict profile and for proxies. */
async function examineQueryTokens(
  { timeSeries }: Pick<Identity, 'timeSeries'>,
  now: () => number,
): Promise<readonly RecordFinding[]> {
  const range = { from: now() - 7 * DAY_SECONDS * 1000, to: now() + 1, stepSeconds: 3600 };
  const { total } = await timeSeries.read({ app: 'gateway', ...range });
  const count = total.reasons.get('token_in_query') ?? 0;
  return count === 0 ? [] : [finding('token_in_query', `Requests within seven days: ${count}.`)];
}
