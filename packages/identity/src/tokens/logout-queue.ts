/**
 * Sign-outs of which clients must be notified (OpenID Connect Back-Channel Logout 1.0). Each client has
 * its own queue, so that a client whose server fails delays no other.
 */
import { StoreFullError } from '@gatehouse/store';
import { z } from 'zod';
import type { ClientRegistry } from '../clients/clients.ts';
import type { createAuditTrail } from '../log/audit-trail.ts';
import type { RecordDependencies } from '../records/record.ts';
import { createDeliveryQueues, deliverySchema } from './delivery-queue.ts';
import type { createUserSessions } from './user-sessions.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** A revocation takes effect within this time. Earlier, the client could sign the user in again. */
const SETTLE_MILLISECONDS = 2 * SECOND;
const notice = deliverySchema.extend({
  userId: z.string(),
  /** The session of the client. Absent: all sessions of the user. */
  sid: z.string().optional(),
});

export type LogoutNotice = Readonly<z.infer<typeof notice>>;

export type LogoutQueue = ReturnType<typeof createLogoutQueue>;

export function createLogoutQueue(
  dependencies: RecordDependencies & {
    readonly clients: Pick<ClientRegistry, 'find'>;
    readonly userSessions: Pick<ReturnType<typeof createUserSessions>, 'applications'>;
    readonly audit: Pick<ReturnType<typeof createAuditTrail>, 'record'>;
  },
) {
  const { clients, userSessions, audit } = dependencies;

  const reportLost = (clientId: string, userId: string) =>
    audit.record({ event: 'logout_undelivered', clientId, userId }, { actor: 'logout-queue' });

  const queues = createDeliveryQueues<LogoutNotice>(
    {
      keys: { queues: 'logout-clients', entries: 'logout-notices', claim: 'logout-claim' },
      schema: notice,
      pauses: [10 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE, 120 * MINUTE],
      lifetimeMilliseconds: 240 * MINUTE,
      taken: 10,
    },
    dependencies,
  );

  /** A full store must not prevent a sign-out. */
  async function add(
    clientId: string,
    { userId, sid, delay = 0 }: Pick<LogoutNotice, 'userId' | 'sid'> & { readonly delay?: number },
  ): Promise<void> {
    try {
      if (await queues.add(clientId, (begun) => ({ ...begun, userId, sid }), delay)) {
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
    /** The clients that have notices, and the notices of each. */
    ...queues,
    add,
    /** Call it before the sessions of the user end, because it reads them. */
    addForUser: async (userId: string): Promise<void> =>
      addForApplications(userId, await userSessions.applications(userId)),
    addForApplications,
    async finish(clientId: string, tried: LogoutNotice, isDone: boolean): Promise<void> {
      if (!(await queues.finish(clientId, tried, isDone)) && !isDone) {
        reportLost(clientId, tried.userId);
      }
    },
  };
}
