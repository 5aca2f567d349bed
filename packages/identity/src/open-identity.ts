/**
 * The records that the authorization server, the gateway and the CLI share in the store:
 * organizations, clients, users, tokens, revocations, signing keys, the audit trail and the request
 * log. It also verifies credentials and encrypts secrets.
 *
 * Not here: issuing OAuth tokens (the authorization server) and HTTP.
 */
import type { Store } from '@gatehouse/store';
import { consoleSecret } from './clients/built-in-clients.ts';
import { type ClientRegistry, createClientRegistry } from './clients/clients.ts';
import { createRegistrationTokens } from './clients/registration-tokens.ts';
import type { AuditEvent, AuditOrigin } from './log/audit-event.ts';
import { createAuditTrail } from './log/audit-trail.ts';
import { createAuditedChanges } from './log/audited-changes.ts';
import type { OnAuditLost } from './log/counted-entries.ts';
import { createProcessList } from './log/process-list.ts';
import { createRequestLog, type RequestLogResult } from './log/request-log.ts';
import { createTimeSeries } from './log/time-series.ts';
import { createLastUse, type LastUse } from './records/last-use.ts';
import { createOrganizationRegistry } from './records/organizations.ts';
import { limitReports, type OnDamagedRecord } from './records/record.ts';
import { createRemovals } from './removals.ts';
import { type CredentialHash, createCredentialHash } from './secrets/credential-keys.ts';
import type { MasterKey } from './secrets/master-key.ts';
import { createSealer, type Sealer } from './secrets/seal.ts';
import { describeSigningKeys, rotateSigningKeys } from './secrets/signing-key-schedule.ts';
import {
  createPublicKeys,
  keepSigningKeys,
  type SigningKeyPolicy,
  type SigningPurpose,
} from './secrets/signing-keys.ts';
import { createSettingsRegistry } from './settings/settings.ts';
import {
  createAccessTokenVerifier,
  createLiveHolders,
  createNotBefore,
  createTokenPrincipals,
} from './tokens/access-tokens.ts';
import { createActionLinks } from './tokens/action-links.ts';
import { createBrowserSessions } from './tokens/browser-sessions.ts';
import { createJwtAccessTokens } from './tokens/jwt-access-tokens.ts';
import { createLogoutQueue } from './tokens/logout-queue.ts';
import { createMailQueue } from './tokens/mail-queue.ts';
import { createOperatorTokens } from './tokens/operator-tokens.ts';
import { createReplayGuard } from './tokens/replay-guard.ts';
import { createRevocations } from './tokens/revocations.ts';
import { createUserSessions } from './tokens/user-sessions.ts';
import {
  createClientPrincipals,
  createTokenKinds,
  createXAccessTokens,
} from './tokens/x-access-tokens.ts';
import { createFactorRecords } from './users/factor-record.ts';
import { createFactorRegistry } from './users/factors.ts';
import { createPasskeyRegistry } from './users/passkeys.ts';
import { createSignInLocks } from './users/sign-in-locks.ts';
import { createUpstreamLinks } from './users/upstream-links.ts';
import { createUserRegistry, type UserRegistry } from './users/users.ts';

export type Identity = ReturnType<typeof openIdentity>;

interface IdentityDependencies {
  readonly store: Store;
  readonly masterKey: MasterKey;
  /** The public origin of the console. Undefined: there is none. */
  readonly consoleUrl?: string | undefined;
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
}

export function openIdentity(dependencies: IdentityDependencies) {
  const { store, masterKey, consoleUrl, now = Date.now } = dependencies;
  const onDamagedRecord = limitReports(dependencies.onDamagedRecord, now);
  const credentialHash = createCredentialHash(masterKey);
  const sealer = createSealer(masterKey);
  const settings = createSettingsRegistry({ store, sealer, consoleUrl, onDamagedRecord, now });
  const organizations = createOrganizationRegistry({ store, onDamagedRecord, now });
  const shared = { store, settings, organizations, onDamagedRecord, now };
  const records = { ...shared, console: consoleOf(dependencies) };
  const lastUse = createLastUse(store, now);
  const clients = createClientRegistry({ ...records, sealer, credentialHash, lastUse });
  const users = createUserRegistry(records);
  const notBefore = createNotBefore(store, now);
  const accounts = createAccounts({ ...records, users, sealer, credentialHash, notBefore });
  const principalOf = createClientPrincipals(settings);
  const findLiveHolder = createLiveHolders(clients, users, notBefore);
  const verification = { ...records, credentialHash, findLiveHolder };
  const userSessions = createUserSessions({ ...verification, sealer });
  const tokenPrincipals = createTokenPrincipals(verification);
  const tokens = { ...verification, tokenPrincipals };
  const findKey = createPublicKeys('authorization-server', { ...records, sealer });
  const jwtAccessTokens = createJwtAccessTokens({ ...tokens, findKey });
  const audit = openAudit(dependencies, lastUse, now);
  const logouts = openLogouts({ ...verification, sealer, clients, users, notBefore, audit });
  const registrationTokens = createRegistrationTokens({ ...records, credentialHash });
  /** Logouts: sign-outs of which clients are notified. */
  const parties = { organizations, clients, registrationTokens, users, logouts, jwtAccessTokens };
  const revocations = createRevocations({ ...verification, ...parties, notBefore });
  return {
    store,
    /** What operators declare for the installation: resources with their scopes, and roles. */
    settings,
    ...parties,
    /** Removes users, clients and organizations, with everything that belongs to them. */
    removals: createRemovals({ ...records, ...parties, ...accounts, revocations }),
    lastUse,
    ...accounts,
    userSessions,
    ...createVerifiers(tokens),
    xAccessTokens: createXAccessTokens({ ...verification, principalOf }),
    /** Of users at the hosts in `browserHosts`. */
    browserSessions: createBrowserSessions({ ...verification, clients, users, notBefore }),
    principalOf,
    /** Explains a token that a verifier rejected. */
    findTokenKind: createTokenKinds(verification),
    /** Every verifier of credentials calls this to find out whether they were revoked. */
    findLiveHolder,
    revocations,
    audit,
    /** What a change did, for the audit trail. */
    auditedChanges: createAuditedChanges({ store, credentialHash, clients, users }),
    ...openLogs(dependencies, now),
    replayGuard: createReplayGuard(store, now),
    ...createSigningKeys({ ...records, sealer }, audit),
    credentialHash,
    sealer,
    onDamagedRecord,
  };
}

function createSigningKeys(
  dependencies: Pick<
    Parameters<typeof createPublicKeys>[1],
    'store' | 'sealer' | 'onDamagedRecord'
  >,
  audit: ReturnType<typeof createAuditTrail>,
) {
  return {
    /** The signing keys of an app. Records each key that this process creates. */
    keepSigningKeys: (
      purpose: SigningPurpose,
      origin: AuditOrigin,
      options: { readonly now: () => number; readonly policy?: SigningKeyPolicy | undefined },
    ) =>
      keepSigningKeys(purpose, {
        ...dependencies,
        onMade: (kid) => audit.record({ event: 'signing_key_made', purpose, kid }, origin),
        ...options,
      }),
    describeSigningKeys: (purpose: SigningPurpose, policy?: SigningKeyPolicy) =>
      describeSigningKeys(purpose, { ...dependencies, policy }),
    rotateSigningKeys: (purpose: SigningPurpose, policy?: SigningKeyPolicy) =>
      rotateSigningKeys(purpose, { ...dependencies, policy }),
  };
}

/** Clients are also notified about the users of a removed organization, whose sessions have ended. */
function openLogouts(
  dependencies: Omit<Parameters<typeof createLogoutQueue>[0], 'userSessions'> & {
    readonly clients: ClientRegistry;
    readonly sealer: Sealer;
    readonly credentialHash: CredentialHash;
    readonly users: UserRegistry;
    readonly notBefore: ReturnType<typeof createNotBefore>;
  },
) {
  const { clients, users, notBefore } = dependencies;
  const findLiveHolder = createLiveHolders(clients, { find: users.readStored }, notBefore);
  const userSessions = createUserSessions({ ...dependencies, findLiveHolder });
  return createLogoutQueue({ ...dependencies, userSessions });
}

/** The address of the console, and the secret of its client. */
function consoleOf({ consoleUrl: url, masterKey }: IdentityDependencies) {
  return url === undefined ? undefined : { url, secret: consoleSecret(masterKey) };
}

function createVerifiers(tokens: Parameters<typeof createAccessTokenVerifier>[0]) {
  const verifyAccessToken = createAccessTokenVerifier(tokens);
  return {
    verifyAccessToken,
    /** For the API of the console. */
    verifyOperatorToken: createOperatorTokens({ ...tokens, verifyAccessToken }),
  };
}

/** What else belongs to the account of a user. */
function createAccounts(
  dependencies: Parameters<typeof createActionLinks>[0] &
    Parameters<typeof createFactorRecords>[0] &
    Parameters<typeof createMailQueue>[0],
) {
  const { store, credentialHash } = dependencies;
  const factors = { ...dependencies, factorRecords: createFactorRecords(dependencies) };
  return {
    signInLocks: createSignInLocks(store, credentialHash),
    passkeys: createPasskeyRegistry(factors),
    factors: createFactorRegistry(factors),
    actionLinks: createActionLinks(dependencies),
    mails: createMailQueue(dependencies),
    upstreamLinks: createUpstreamLinks(dependencies),
  };
}

function openLogs({ store, onRequestLog: count }: IdentityDependencies, now: () => number) {
  return {
    requestLog: createRequestLog({ store, now, count }),
    /** What all processes counted. */
    timeSeries: createTimeSeries({ store, now }),
    /** The running processes. */
    processes: createProcessList({ store, now }),
  };
}

function openAudit(dependencies: IdentityDependencies, lastUse: LastUse, now: () => number) {
  const { store, auditRetentionDays: retentionDays, onAuditLost: onLost } = dependencies;
  return createAuditTrail({
    ...{ store, now, retentionDays, onLost },
    /** Keys and requests are noted where they are verified. */
    onEvent(event) {
      if (event.event === 'sign_in_succeeded') {
        lastUse.noteUser(event.userId);
      } else if (event.event === 'token_issued') {
        lastUse.noteClient(event.clientId);
        lastUse.notePractice(event.clientId, event.grant);
      }
      dependencies.onAuditEvent?.(event);
    },
  });
}
