import type { Identity } from '@gatehouse/identity';
import type { Adapter } from 'oidc-provider';
import type { BrowserState } from '../policy/cookies.ts';
import { type SecurityProfile, supportedGrantTypes } from '../policy/grant-types.ts';
import { ClientAdapter } from './client-adapter.ts';
import { completeDeviceCodes } from './device-codes.ts';
import { failClosed } from './fail-closed.ts';
import { keepAnonymousSessionsInBrowser } from './keep-anonymous-sessions-in-browser.ts';
import { keepInteractionsInBrowser } from './keep-interactions-in-browser.ts';
import { OidcAdapter } from './oidc-adapter.ts';
import { requireRedirectUri } from './omitted-redirect-uris.ts';
import type { SingleUse } from './single-use.ts';
import {
  limitedModels,
  limitPushedRequests,
  limitTokens,
  type TokenBudgets,
} from './stored-request-budget.ts';

export interface CreateAdapterDependencies {
  readonly identity: Identity;
  /** How the records of a model are used once. */
  readonly singleUseOf: (model: string) => SingleUse;
  readonly tokenBudgets: TokenBudgets;
  readonly securityProfile: SecurityProfile;
  readonly browserState: BrowserState;
}

/** Where the records of a model are kept. */
export function createAdapter(model: string, dependencies: CreateAdapterDependencies): Adapter {
  return failClosed(selectAdapter(model, dependencies));
}

function selectAdapter(model: string, dependencies: CreateAdapterDependencies): Adapter {
  const { identity, singleUseOf, securityProfile, browserState } = dependencies;
  const budgets = dependencies.tokenBudgets;
  if (model === 'Client') {
    return new ClientAdapter(identity.clients, supportedGrantTypes(securityProfile));
  }
  const unlimited = new OidcAdapter(model, { ...identity, singleUse: singleUseOf(model) });
  const stored = limitedModels.has(model)
    ? limitTokens(unlimited, model, { identity, budgets })
    : unlimited;
  switch (model) {
    case 'Interaction':
      return keepInteractionsInBrowser(stored, { ...identity, cookies: browserState.interactions });
    case 'Session':
      return keepAnonymousSessionsInBrowser(stored, browserState.sessions);
    case 'PushedAuthorizationRequest':
      return limitPushedRequests(stored, identity.store);
    case 'DeviceCode':
      return completeDeviceCodes(stored, identity);
    case 'AuthorizationCode':
      return requireRedirectUri(stored);
    default:
      return stored;
  }
}
