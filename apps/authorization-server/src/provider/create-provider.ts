/**
 * Configures oidc-provider. The library implements the protocol. This folder has the rest:
 *
 *   configuration.ts  all settings of the library
 *   policy/           rules without I/O: lifetimes, sessions, scopes, accounts, cookies
 *   patches/          all changes to the library's internals, as one list
 *   reasons/          reasons of rejections, and which clients may read them
 *   adapters/         storage of records, and their single use
 *   middleware/       Koa steps around the endpoints: errors, log, audit, signing keys
 *
 * Each folder imports only those above it. Callers pass pages, grants and endpoints as
 * `ProviderExtensions`, so that this folder does not import its callers.
 */
import type { KeptSigningKeys, MasterKey } from '@gatehouse/identity';
import Provider from 'oidc-provider';
import type { FailedSecrets } from '../throttle/failed-secrets.ts';
import { limitCodeAttempts } from './adapters/code-attempts.ts';
import type { CreateAdapterDependencies } from './adapters/create-adapter.ts';
import { recordKey } from './adapters/record-key.ts';
import { createRedemptions } from './adapters/redemptions.ts';
import { createRefreshRotation } from './adapters/refresh-rotation.ts';
import type { RepliedUse } from './adapters/single-use.ts';
import { createTokenBudgets } from './adapters/stored-request-budget.ts';
import {
  type ConfigurationExtensions,
  type ProviderSettings,
  providerConfiguration,
} from './configuration.ts';
import { addPollingInterval } from './middleware/add-polling-interval.ts';
import { auditProviderEvents } from './middleware/audit-provider-events.ts';
import { completeRedemption } from './middleware/complete-redemption.ts';
import { countFailedSecrets } from './middleware/count-failed-secrets.ts';
import { handleUnexpectedErrors } from './middleware/handle-unexpected-errors.ts';
import { keepJwksCurrent } from './middleware/keep-jwks-current.ts';
import { logOutcomes } from './middleware/log-outcomes.ts';
import type { ProviderMiddleware } from './middleware/provider-middleware.ts';
import { watchChallenges } from './middleware/watch-challenges.ts';
import type { FormPostPage } from './patches/form-post-mode.ts';
import { applyPatches } from './patches/index.ts';
import { createRefreshSuccessor } from './patches/refresh-token-values.ts';

export type { Provider };

export interface ProviderDependencies
  extends Omit<ProviderSettings, 'singleUseOf' | 'tokenBudgets'> {
  readonly masterKey: MasterKey;
  readonly keptSigningKeys: KeptSigningKeys;
  readonly failedSecrets: FailedSecrets;
}

/** The parts of the provider that other folders own. */
export interface ProviderExtensions {
  readonly configuration: ConfigurationExtensions;
  readonly formPostPage: FormPostPage;
  /** The outermost steps, which change every reply, including errors. */
  readonly replySteps: readonly ProviderMiddleware[];
  /** The steps before and after an endpoint. Their errors are handled. */
  readonly endpointSteps: (provider: Provider) => readonly ProviderMiddleware[];
}

/**
 * @throws LibraryShapeError when the installed oidc-provider does not have the shape that the
 * patches need
 */
export function createProvider(
  issuer: string,
  dependencies: ProviderDependencies,
  extensions: ProviderExtensions,
): Provider {
  const { identity, masterKey, failedSecrets, keptSigningKeys } = dependencies;
  const { store, credentialHash } = identity;
  const redemptions = createRedemptions(store);
  const successorOf = createRefreshSuccessor(masterKey);
  const keyOf = (refreshToken: string) => recordKey('RefreshToken', refreshToken, credentialHash);
  const rotation = createRefreshRotation({ store, successorOf, keyOf });
  const singleUseOf = chooseSingleUse(dependencies, redemptions, rotation);
  const provider = new Provider(
    issuer,
    providerConfiguration(
      { ...dependencies, singleUseOf, tokenBudgets: createTokenBudgets(store) },
      extensions.configuration,
    ),
  );
  applyPatches(provider, { ...dependencies, ...extensions, successorOf });
  // fixOrigin alone sets the proxy headers, so that every URL starts with the issuer.
  provider.proxy = true;
  const steps = [
    ...extensions.replySteps,
    addPollingInterval,
    handleUnexpectedErrors,
    countFailedSecrets(failedSecrets),
    completeRedemption(redemptions, rotation),
    ...extensions.endpointSteps(provider),
    keepJwksCurrent(provider, keptSigningKeys),
  ];
  for (const step of steps) {
    provider.use(step);
  }
  logOutcomes(provider, identity.clients);
  auditProviderEvents(provider, identity);
  watchChallenges(provider, identity);
  return provider;
}

/** Codes can be presented five times. Refresh tokens have a grace period, except under `strict`. */
function chooseSingleUse(
  { identity, securityProfile }: ProviderDependencies,
  redemptions: RepliedUse,
  rotation: RepliedUse,
): CreateAdapterDependencies['singleUseOf'] {
  const codes = limitCodeAttempts(redemptions, identity.store);
  return (model) => {
    if (model === 'AuthorizationCode') {
      return codes;
    }
    return model === 'RefreshToken' && securityProfile === 'compatible' ? rotation : redemptions;
  };
}
