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
import { createCredentialHash } from './secrets/credential-keys.ts';
import type { MasterKey } from './secrets/master-key.ts';
import { createSealer, type SecretDependencies } from './secrets/seal.ts';
import { createSigningKeySchedule } from './secrets/signing-key-schedule.ts';
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
  type NotBefore,
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
  const records: SecretDependencies = {
    ...{ store, now, sealer: createSealer(masterKey) },
    onDamagedRecord: limitReports(dependencies.onDamagedRecord, now),
    credentialHash: createCredentialHash(masterKey),
  };
  const settings = createSettingsRegistry({ ...records, consoleUrl });
  const organizations = createOrganizationRegistry(records);
  const lastUse = createLastUse(store, now);
  const declared = {
    ...records,
    settings,
    organizations,
    lastUse,
    console: consoleUrl ? { url: consoleUrl, secret: consoleSecret(masterKey) } : undefined,
  };
  const clients = createClientRegistry(declared);
  const users = createUserRegistry(declared);
  const notBefore = createNotBefore(store, now);
  const holders = { ...declared, clients, users, notBefore };
  const accounts = createAccounts(holders);
  const principalOf = createClientPrincipals(settings);
  const findLiveHolder = createLiveHolders(clients, users, notBefore);
  const verification = { ...holders, findLiveHolder };
  const userSessions = createUserSessions(verification);
  const tokens = { ...verification, tokenPrincipals: createTokenPrincipals(verification) };
  const findKey = createPublicKeys('authorization-server', records);
  const jwtAccessTokens = createJwtAccessTokens({ ...tokens, findKey });
  const audit = openAudit(dependencies, records, lastUse);
  const logouts = openLogouts({ ...holders, audit });
  const registrationTokens = createRegistrationTokens(declared);
  /** Logouts: sign-outs of which clients are notified. */
  const parties = { organizations, clients, registrationTokens, users, logouts, jwtAccessTokens };
  const revocations = createRevocations({ ...verification, ...parties });
  return {
    ...records,
    /** What operators declare for the installation: resources with their scopes, and roles. */
    settings,
    ...parties,
    /** Removes users, clients and organizations, with everything that belongs to them. */
    removals: createRemovals({ ...declared, ...parties, ...accounts, revocations }),
    lastUse,
    ...accounts,
    userSessions,
    ...createVerifiers(tokens),
    xAccessTokens: createXAccessTokens({ ...verification, principalOf }),
    /** Of users at the hosts in `browserHosts`. */
    browserSessions: createBrowserSessions(verification),
    principalOf,
    /** Explains a token that a verifier rejected. */
    findTokenKind: createTokenKinds(verification),
    /** Every verifier of credentials calls this to find out whether they were revoked. */
    findLiveHolder,
    revocations,
    audit,
    auditedChanges: createAuditedChanges(holders),
    requestLog: createRequestLog({ ...records, count: dependencies.onRequestLog }),
    /** What all processes counted. */
    timeSeries: createTimeSeries(records),
    /** The running processes. */
    processes: createProcessList(records),
    replayGuard: createReplayGuard(store, now),
    ...createSigningKeys(records, audit),
  };
}

function createSigningKeys(
  records: SecretDependencies,
  audit: ReturnType<typeof createAuditTrail>,
) {
  return {
    ...createSigningKeySchedule(records),
    /** The signing keys of an app. Records each key that this process creates. */
    keepSigningKeys: (
      purpose: SigningPurpose,
      origin: AuditOrigin,
      options: { readonly now: () => number; readonly policy?: SigningKeyPolicy | undefined },
    ) =>
      keepSigningKeys(purpose, {
        ...records,
        onMade: (kid) => audit.record({ event: 'signing_key_made', purpose, kid }, origin),
        ...options,
      }),
  };
}

/** Clients are also notified about the users of a removed organization, whose sessions have ended. */
function openLogouts(
  dependencies: SecretDependencies &
    Omit<Parameters<typeof createLogoutQueue>[0], 'userSessions'> & {
      readonly clients: ClientRegistry;
      readonly users: UserRegistry;
      readonly notBefore: NotBefore;
    },
) {
  const { clients, users, notBefore } = dependencies;
  const findLiveHolder = createLiveHolders(clients, { find: users.readStored }, notBefore);
  const userSessions = createUserSessions({ ...dependencies, findLiveHolder });
  return createLogoutQueue({ ...dependencies, userSessions });
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
  dependencies: Parameters<typeof createActionLinks>[0] & Parameters<typeof createUpstreamLinks>[0],
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

function openAudit(
  dependencies: IdentityDependencies,
  records: SecretDependencies,
  lastUse: LastUse,
) {
  return createAuditTrail({
    ...records,
    retentionDays: dependencies.auditRetentionDays,
    onLost: dependencies.onAuditLost,
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
