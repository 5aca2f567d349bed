/**
 * The records that the authorization server, the gateway and the CLI share in the store:
 * organizations, clients, users, tokens, revocations, signing keys, the audit trail and the request
 * log. It also verifies credentials and encrypts secrets.
 *
 * Not here: issuing OAuth tokens (the authorization server) and HTTP.
 */
import type { Store } from '@gatehouse/store';
import { type ClientRegistry, createClientRegistry } from './clients/clients.ts';
import type { AuditEvent } from './log/audit-event.ts';
import { type AuditTrail, createAuditTrail } from './log/audit-trail.ts';
import type { OnAuditLost } from './log/counted-entries.ts';
import type { RequestLogResult } from './log/request-log.ts';
import { createRequestLog, type RequestLog } from './log/request-log.ts';
import { createOrganizationRegistry, type OrganizationRegistry } from './records/organizations.ts';
import { limitReports, type OnDamagedRecord } from './records/record.ts';
import type { MasterKey } from './secrets/master-key.ts';
import { createSealer, type Sealer } from './secrets/seal.ts';
import { type AccessTokenVerifier, createAccessTokenVerifier } from './tokens/access-tokens.ts';
import { type CredentialHash, createCredentialHash } from './tokens/credential-keys.ts';
import { createLiveHolders, createNotBefore, type FindLiveHolder } from './tokens/live-holder.ts';
import { createReplayGuard, type ReplayGuard } from './tokens/replay-guard.ts';
import { createRevocations, type Revocations } from './tokens/revocations.ts';
import { createTokenKinds, type FindTokenKind } from './tokens/x-access-tokens.ts';
import { createSignInLocks, type SignInLocks } from './users/sign-in-locks.ts';
import { createUserSessions, type UserSessions } from './users/user-sessions.ts';
import type { UserRegistry } from './users/users.ts';
import { createUserRegistry } from './users/users.ts';

export interface Identity {
  readonly store: Store;
  readonly organizations: OrganizationRegistry;
  readonly clients: ClientRegistry;
  readonly users: UserRegistry;
  readonly signInLocks: SignInLocks;
  readonly userSessions: UserSessions;
  readonly verifyAccessToken: AccessTokenVerifier;
  /** Explains a token that a verifier rejected. */
  readonly findTokenKind: FindTokenKind;
  /** Every verifier of credentials calls this to find out whether they were revoked. */
  readonly findLiveHolder: FindLiveHolder;
  readonly revocations: Revocations;
  readonly audit: AuditTrail;
  readonly requestLog: RequestLog;
  readonly replayGuard: ReplayGuard;
  readonly credentialHash: CredentialHash;
  readonly sealer: Sealer;
  readonly onDamagedRecord: OnDamagedRecord;
}

export function openIdentity(dependencies: {
  readonly store: Store;
  readonly masterKey: MasterKey;
  /** Epoch milliseconds. */
  readonly now?: () => number;
  /** How long audit entries are kept. */
  readonly auditRetentionDays?: number | undefined;
  readonly onAuditLost?: OnAuditLost;
  readonly onDamagedRecord?: OnDamagedRecord;
  /** Called for every recorded event, for metrics. Must not throw. */
  readonly onAuditEvent?: (event: AuditEvent) => void;
  /** Counts what happened to entries of the request log. Must not throw. */
  readonly onRequestLog?: (result: RequestLogResult, entries: number) => void;
}): Identity {
  const { store, masterKey, now = Date.now, onAuditLost, onAuditEvent } = dependencies;
  const { auditRetentionDays } = dependencies;
  const onDamagedRecord = limitReports(dependencies.onDamagedRecord, now);
  const credentialHash = createCredentialHash(masterKey);
  const sealer = createSealer(masterKey);
  const clients = createClientRegistry({ store, sealer, credentialHash, onDamagedRecord, now });
  const users = createUserRegistry({ store, onDamagedRecord, now });
  const notBefore = createNotBefore({ store, now });
  const findLiveHolder = createLiveHolders({ clients, users, notBefore });
  return {
    store,
    organizations: createOrganizationRegistry(store, onDamagedRecord),
    clients,
    users,
    signInLocks: createSignInLocks({ store, credentialHash }),
    userSessions: createUserSessions({ store, sealer, findLiveHolder }),
    verifyAccessToken: createAccessTokenVerifier({
      store,
      credentialHash,
      findLiveHolder,
      onDamagedRecord,
      now,
    }),
    findTokenKind: createTokenKinds({ store, credentialHash, now }),
    findLiveHolder,
    revocations: createRevocations({ store, clients, users, notBefore, credentialHash, now }),
    audit: createAuditTrail({
      store,
      now,
      retentionDays: auditRetentionDays,
      onLost: onAuditLost,
      onEvent: onAuditEvent,
    }),
    requestLog: createRequestLog({ store, now, count: dependencies.onRequestLog }),
    replayGuard: createReplayGuard({ store, now }),
    credentialHash,
    sealer,
    onDamagedRecord,
  };
}
