/**
 * Sign-outs of which clients must be notified (OpenID Connect Back-Channel Logout 1.0). They wait in
 * the store, so that a restart loses none, and any server can deliver them. A claim gives each
 * attempt to one server. If this server fails, another one gets it when the claim expires.
 *
 * Each client has its own queue, so that a client whose server fails delays no other.
 */
import { randomUUID } from 'node:crypto';
import { type Store, StoreFullError } from '@gatehouse/store';
import { z } from 'zod';
import type { ClientRegistry } from '../clients/clients.ts';
import type { createAuditTrail } from '../log/audit-trail.ts';
import { parseRecord } from '../records/record.ts';
import type { createUserSessions } from './user-sessions.ts';

const CLIENTS_KEY = 'logout-clients';
const noticesKey = (clientId: string) => `logout-notices:${clientId}`;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** Before the second attempt, and so on. */
const RETRY_MILLISECONDS = [10 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE, 120 * MINUTE];
/** Longer than all attempts. */
const LIFETIME_MILLISECONDS = 4 * 60 * MINUTE;
/** A revocation takes effect within this time. Earlier, the client could sign the user in again. */
const SETTLE_MILLISECONDS = 2 * SECOND;
/** Of one client. Its users can cause no more. */
const MAXIMUM_NOTICES = 1000;
/** A server works on so many at a time. It has to end each attempt before its claim expires. */
const TAKEN_NOTICES = 10;
const CLAIM_SECONDS = 60;

const notice = z.object({
  id: z.string(),
  userId: z.string(),
  /** The session of the client. Absent: all sessions of the user. */
  sid: z.string().optional(),
  /** The number of attempts that failed. */
  failed: z.int(),
  /** Epoch milliseconds. */
  dueAt: z.int(),
  expiresAt: z.int(),
});

export type LogoutNotice = Readonly<z.infer<typeof notice>>;

export type LogoutQueue = ReturnType<typeof createLogoutQueue>;

export function createLogoutQueue(dependencies: {
  readonly store: Store;
  readonly clients: Pick<ClientRegistry, 'find'>;
  readonly userSessions: Pick<ReturnType<typeof createUserSessions>, 'applications'>;
  readonly audit: Pick<ReturnType<typeof createAuditTrail>, 'record'>;
  readonly now: () => number;
}) {
  const { store, clients, userSessions, audit, now } = dependencies;

  const reportLost = (clientId: string, userId: string) =>
    audit.record({ event: 'logout_undelivered', clientId, userId }, { actor: 'logout-queue' });

  async function put(clientId: string, added: LogoutNotice): Promise<void> {
    const { expiresAt } = added;
    await store.addToIndex(noticesKey(clientId), JSON.stringify(added), expiresAt);
    // After the notice: `read` removes clients without notices.
    await store.addToIndex(CLIENTS_KEY, clientId, now() + LIFETIME_MILLISECONDS);
  }

  /** A full store must not prevent a sign-out. */
  async function add(
    clientId: string,
    { userId, sid, delay = 0 }: Pick<LogoutNotice, 'userId' | 'sid'> & { readonly delay?: number },
  ): Promise<void> {
    const dueAt = now() + delay;
    const expiresAt = now() + LIFETIME_MILLISECONDS;
    try {
      if ((await store.members(noticesKey(clientId))).length < MAXIMUM_NOTICES) {
        await put(clientId, { id: randomUUID(), userId, sid, failed: 0, dueAt, expiresAt });
        return;
      }
    } catch (error) {
      if (!(error instanceof StoreFullError)) {
        throw error;
      }
    }
    reportLost(clientId, userId);
  }

  /** For the applications of sessions that end. */
  async function addForApplications(
    userId: string,
    applications: Awaited<ReturnType<typeof userSessions.applications>>,
  ): Promise<void> {
    for (const [clientId, sessions] of Map.groupBy(applications, (each) => each.clientId)) {
      const client = await clients.find(clientId);
      if (client?.backchannelLogoutUri !== undefined) {
        const isBySession = client.backchannelLogoutSessionRequired === true;
        const sids = isBySession ? sessions.map(({ sid }) => sid) : [undefined];
        for (const sid of new Set(sids)) {
          await add(clientId, { userId, sid, delay: SETTLE_MILLISECONDS });
        }
      }
    }
  }

  return {
    add,
    /** Call it before the sessions of the user end, because it reads them. */
    addForUser: async (userId: string): Promise<void> =>
      addForApplications(userId, await userSessions.applications(userId)),
    addForApplications,
    /** The clients that have notices. */
    clientIds: (): Promise<readonly string[]> => store.members(CLIENTS_KEY),
    /** The notices of the client that are due, earliest first. */
    async due(clientId: string): Promise<readonly LogoutNotice[]> {
      const key = noticesKey(clientId);
      const members = await store.members(key);
      if (members.length === 0) {
        await store.removeFromIndex(CLIENTS_KEY, clientId);
        const added = await store.members(key);
        if (added.length > 0) {
          await store.addToIndex(CLIENTS_KEY, clientId, now() + LIFETIME_MILLISECONDS);
        }
        return [];
      }
      const at = now();
      return members
        .flatMap((text) => parseRecord(notice, text) ?? [])
        .filter(({ dueAt }) => dueAt <= at)
        .sort((a, b) => a.dueAt - b.dueAt)
        .slice(0, TAKEN_NOTICES);
    },
    /** Whether this caller makes the next attempt. */
    async claim({ id, failed }: LogoutNotice): Promise<boolean> {
      const owner = randomUUID();
      return (await store.claim(`logout-claim:${id}:${failed}`, owner, CLAIM_SECONDS)) === owner;
    },
    /** Ends an attempt. Without success, the notice is due again later, or was due for the last time. */
    async finish(clientId: string, tried: LogoutNotice, isDone: boolean): Promise<void> {
      const wait = RETRY_MILLISECONDS[tried.failed];
      if (!isDone && wait !== undefined) {
        await put(clientId, { ...tried, failed: tried.failed + 1, dueAt: now() + wait });
      } else if (!isDone) {
        reportLost(clientId, tried.userId);
      }
      await store.removeFromIndex(noticesKey(clientId), JSON.stringify(tried));
    },
  };
}
