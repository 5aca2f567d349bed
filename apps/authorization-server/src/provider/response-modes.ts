import type Provider from 'oidc-provider';
import instance from 'oidc-provider/lib/helpers/weak_cache.js';

/**
 * Takes `form_post` away: its page submits itself by an inline script, which no page of ours may run, and no
 * client of the specification asks for it (ASVS 10.4.12: only the modes that are needed).
 */
export function refuseFormPost(provider: Provider): void {
  const { responseModes } = instance(provider) ?? {};
  if (!(responseModes instanceof Map) || !responseModes.delete('form_post')) {
    throw new Error('This version of oidc-provider keeps its response modes elsewhere.');
  }
}
