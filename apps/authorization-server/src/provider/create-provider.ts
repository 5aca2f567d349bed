/**
 * Configures oidc-provider. The library implements the protocol. This folder has the rest: its
 * settings, rules and records (settings.ts lists them), the changes to its internals (patches.ts),
 * and the Koa steps around its endpoints. Callers pass pages, grants and endpoints, so that this
 * folder does not import its callers.
 */
import type { KeptSigningKeys, MasterKey } from '@gatehouse/identity';
import Provider from 'oidc-provider';
import type { FailedSecrets } from '../throttle/failed-secrets.ts';
import { auditProviderEvents, watchChallenges } from './audit.ts';
import { countFailedSecrets } from './client-patches.ts';
import { type GrantDependencies, supportedGrants } from './clients.ts';
import { addPollingInterval } from './device-codes.ts';
import { handleUnexpectedErrors, logOutcomes } from './errors.ts';
import type { ProviderMiddleware } from './library.ts';
import { recordKey } from './oidc-adapter.ts';
import { applyPatches, type FormPostPage, keepJwksCurrent } from './patches.ts';
import {
  type ConfigurationExtensions,
  type ProviderSettings,
  providerConfiguration,
} from './settings.ts';
import {
  completeRedemption,
  createRedemptions,
  createRefreshRotation,
  createRefreshSuccessor,
  limitCodeAttempts,
  type SingleUse,
} from './single-use.ts';
import { createTokenBudgets } from './stored-budgets.ts';

export type { Provider };

interface ProviderDependencies
  extends Omit<ProviderSettings, 'singleUseOf' | 'tokenBudgets'>,
    GrantDependencies {
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
  const { identity, masterKey, failedSecrets, keptSigningKeys, securityProfile } = dependencies;
  const { store, credentialHash } = identity;
  const grants = supportedGrants(dependencies.grants, securityProfile);
  const redemptions = createRedemptions(store);
  const successorOf = createRefreshSuccessor(masterKey);
  const keyOf = (refreshToken: string) => recordKey('RefreshToken', refreshToken, credentialHash);
  const rotation = createRefreshRotation({ store, successorOf, keyOf });
  // Codes can be presented five times. Refresh tokens have a grace, except under `strict`.
  const singleUses: Readonly<Record<string, SingleUse>> = {
    AuthorizationCode: limitCodeAttempts(redemptions, store),
    RefreshToken: securityProfile === 'compatible' ? rotation : redemptions,
  };
  const provider = new Provider(
    issuer,
    providerConfiguration(
      {
        ...dependencies,
        grants,
        singleUseOf: (model) => singleUses[model] ?? redemptions,
        tokenBudgets: createTokenBudgets(store),
      },
      extensions.configuration,
    ),
  );
  const platformGrantTypes = new Set(
    Object.keys(grants).filter((name) => grants[name]?.isOfPlatform),
  );
  applyPatches(provider, { ...dependencies, ...extensions, successorOf, platformGrantTypes });
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
  for (const { register } of Object.values(grants)) {
    register?.(provider, dependencies);
  }
  return provider;
}
