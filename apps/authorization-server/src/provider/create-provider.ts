/**
 * oidc-provider, configured. The library owns the protocol; this folder owns what it leaves open: where
 * things are kept (adapters), who clients and accounts are, how long things live, and how it fails.
 * What stands before its endpoints is in authorize/ and client-endpoints/; the pages are in sign-in/.
 */
import type { Identity, KeptSigningKeys } from '@gatehouse/identity';
import Provider from 'oidc-provider';
import { redirectReply } from '../authorize/redirect-reply.ts';
import { completeRedemption } from '../client-endpoints/complete-redemption.ts';
import { clientEndpointReply } from '../client-endpoints/reply.ts';
import { removeForeignOrigins } from '../cors/registered-origins.ts';
import { registerClientCredentials } from '../grants/client-credentials.ts';
import { auditEvents } from './audit-events.ts';
import { refuseUnauthorizedClients } from './client-permissions.ts';
import { type ProviderSettings, providerConfiguration } from './configuration.ts';
import { enableImplicit } from './enable-implicit.ts';
import { keepJwksCurrent } from './keep-jwks-current.ts';
import { noteOutcomes } from './note-outcomes.ts';
import { createRedemptions } from './redemptions.ts';
import { rememberClients } from './remember-clients.ts';
import { nameServedResponseModes } from './response-modes.ts';
import { clientEndpointPaths } from './routes.ts';
import { answerUnexpectedErrors } from './unexpected-errors.ts';

export function createProvider(
  issuer: string,
  settings: Omit<ProviderSettings, 'redemptions'>,
  keptSigningKeys: KeptSigningKeys,
): Provider {
  const redemptions = createRedemptions(settings.identity.store);
  const provider = new Provider(issuer, providerConfiguration({ ...settings, redemptions }));
  if (settings.securityProfile === 'compatible') {
    enableImplicit(provider);
  }
  registerClientCredentials(provider);
  refuseUnauthorizedClients(provider);
  compareSecretsInRegistry(provider, settings.identity);
  rememberClients(provider, settings.identity.clients);
  // Proxy headers are set by fixOrigin alone, so that every URL starts with the issuer.
  provider.proxy = true;
  provider.use(redirectReply);
  provider.use(removeForeignOrigins);
  provider.use(clientEndpointReply(clientEndpointPaths));
  provider.use(nameServedResponseModes);
  provider.use(answerUnexpectedErrors);
  provider.use(completeRedemption(redemptions));
  provider.use(keepJwksCurrent(provider, keptSigningKeys));
  noteOutcomes(provider);
  auditEvents(provider, settings.identity);
  return provider;
}

/** The library compares one plaintext secret and pads it with NUL; the registry holds up to two, sealed. */
function compareSecretsInRegistry(provider: Provider, { clients }: Identity): void {
  provider.Client.prototype.compareClientSecret = async function compareClientSecret(actual) {
    return clients.verifySecret(await clients.find(this.clientId), actual);
  };
}
