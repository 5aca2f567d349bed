/**
 * oidc-provider, configured. The library owns the protocol; this folder owns what it leaves open: where
 * things are kept (adapters), who clients and accounts are, how long things live, and how it fails.
 * What stands before its endpoints is in authorize/ and client-endpoints/; the pages are in sign-in/.
 */
import type { KeptSigningKeys, MasterKey } from '@gatehouse/identity';
import Provider from 'oidc-provider';
import { redirectReply } from '../authorize/redirect-reply.ts';
import { completeRedemption } from '../client-endpoints/complete-redemption.ts';
import { clientEndpointReply } from '../client-endpoints/reply.ts';
import { removeForeignOrigins } from '../cors/registered-origins.ts';
import { limitUserCodes } from '../device-sign-in/limit-user-codes.ts';
import { registerClientCredentials } from '../grants/client-credentials.ts';
import { registerMachineRefresh } from '../grants/machine-tokens.ts';
import { registerPassword } from '../grants/password.ts';
import { clientEndpointPaths } from '../http/provider-routes.ts';
import { skipLogoutQuestion } from '../logout/skip-logout-question.ts';
import { platformReply } from '../platform/platform-reply.ts';
import type { FailedSecrets } from '../throttle/failed-secrets.ts';
import type { SignIn } from '../throttle/sign-in-throttle.ts';
import { limitCodeAttempts } from './adapters/code-attempts.ts';
import { recordKey } from './adapters/record-key.ts';
import { createRedemptions, type Redemptions } from './adapters/redemptions.ts';
import { createRefreshRotation } from './adapters/refresh-rotation.ts';
import { type ProviderSettings, providerConfiguration } from './configuration.ts';
import { auditEvents } from './middleware/audit-events.ts';
import { keepJwksCurrent } from './middleware/keep-jwks-current.ts';
import { limitFailedSecrets } from './middleware/limit-failed-secrets.ts';
import { noteOutcomes } from './middleware/note-outcomes.ts';
import { answerUnexpectedErrors } from './middleware/unexpected-errors.ts';
import { watchChallenges } from './middleware/watch-challenges.ts';
import { refuseUnauthorizedClients } from './patches/client-permissions.ts';
import { completeDeviceCodes } from './patches/device-codes.ts';
import { enableImplicit } from './patches/enable-implicit.ts';
import { limitStoredRequests } from './patches/limit-stored-requests.ts';
import {
  createRefreshSuccessor,
  deriveRefreshTokens,
  type RefreshSuccessor,
} from './patches/refresh-successor.ts';
import { rememberClients } from './patches/remember-clients.ts';
import { rememberSecureKeys } from './patches/secure-key-of-tokens.ts';
import { nameServedResponseModes } from './policy/response-modes.ts';
import { endGrantsWithSession } from './policy/sessions.ts';

export interface ProviderDependencies extends Omit<ProviderSettings, 'singleUseOf'> {
  readonly masterKey: MasterKey;
  readonly keptSigningKeys: KeptSigningKeys;
  readonly signIn: SignIn;
  readonly failedSecrets: FailedSecrets;
}

export function createProvider(issuer: string, dependencies: ProviderDependencies): Provider {
  const { identity, masterKey, securityProfile } = dependencies;
  const redemptions = createRedemptions(identity.store);
  const successorOf = createRefreshSuccessor(masterKey);
  const singleUseOf = chooseSingleUse(dependencies, redemptions, successorOf);
  const provider = new Provider(issuer, providerConfiguration({ ...dependencies, singleUseOf }));
  if (securityProfile === 'compatible') {
    enableImplicit(provider);
    registerPassword(provider, dependencies.signIn);
  }
  registerClientCredentials(provider);
  registerMachineRefresh(provider, identity);
  deriveRefreshTokens(provider, successorOf);
  limitStoredRequests(provider, identity);
  completeDeviceCodes(provider, identity);
  endGrantsWithSession(provider, identity);
  refuseUnauthorizedClients(provider);
  rememberSecureKeys(provider, identity.clients);
  rememberClients(provider, identity.clients);
  // Proxy headers are set by fixOrigin alone, so that every URL starts with the issuer.
  provider.proxy = true;
  provider.use(redirectReply);
  provider.use(removeForeignOrigins);
  provider.use(clientEndpointReply(clientEndpointPaths));
  provider.use(platformReply);
  provider.use(nameServedResponseModes);
  provider.use(answerUnexpectedErrors);
  limitFailedSecrets(provider, dependencies.failedSecrets);
  provider.use(completeRedemption(redemptions));
  provider.use(limitUserCodes(provider, identity));
  provider.use(skipLogoutQuestion);
  provider.use(keepJwksCurrent(provider, dependencies.keptSigningKeys));
  noteOutcomes(provider);
  auditEvents(provider, identity);
  watchChallenges(provider, identity);
  return provider;
}

/** Codes are presented a few times only; refresh tokens have a grace, which `strict` does not give. */
function chooseSingleUse(
  { identity, securityProfile }: ProviderDependencies,
  redemptions: Redemptions,
  successorOf: RefreshSuccessor,
): ProviderSettings['singleUseOf'] {
  const { store, credentialHash } = identity;
  const keyOf = (refreshToken: string) => recordKey('RefreshToken', refreshToken, credentialHash);
  const rotation = createRefreshRotation({ store, successorOf, keyOf });
  const codes = limitCodeAttempts(redemptions, store);
  return (model) => {
    if (model === 'AuthorizationCode') {
      return codes;
    }
    return model === 'RefreshToken' && securityProfile === 'compatible' ? rotation : redemptions;
  };
}
