/**
 * oidc-provider, configured. The library owns the protocol; this folder owns what it leaves open: where
 * things are kept (adapters), who clients and accounts are, how long things live, and how it fails.
 * What stands before its endpoints is in authorize/ and token/; the pages are in sign-in/.
 */
import type { Identity } from '@gatehouse/identity';
import Provider from 'oidc-provider';
import { redirectStatus } from '../authorize/redirect-status.ts';
import { registerClientCredentials } from '../grants/client-credentials.ts';
import { tokenReply } from '../token/token-reply.ts';
import { type ProviderSettings, providerConfiguration } from './configuration.ts';
import { noteOutcomes } from './note-outcomes.ts';

export function createProvider(issuer: string, settings: ProviderSettings): Provider {
  const provider = new Provider(issuer, providerConfiguration(settings));
  registerClientCredentials(provider);
  compareSecretsInRegistry(provider, settings.identity);
  // Proxy headers are set by fixOrigin alone, so that every URL starts with the issuer.
  provider.proxy = true;
  provider.use(redirectStatus);
  provider.use(tokenReply);
  noteOutcomes(provider);
  return provider;
}

/** The library compares one plaintext secret and pads it with NUL; the registry holds up to two, sealed. */
function compareSecretsInRegistry(provider: Provider, { clients }: Identity): void {
  provider.Client.prototype.compareClientSecret = async function compareClientSecret(actual) {
    return clients.verifySecret(await clients.find(this.clientId), actual);
  };
}
