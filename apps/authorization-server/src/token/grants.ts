import { type GrantType, grantFacts, grantNames } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import { registerClientCredentials, registerMachineRefresh } from './client-credentials.ts';
import type { GrantDependencies } from './issue-tokens.ts';
import { registerPassword } from './password.ts';

/** Adds a grant that the library does not have, or replaces one of the library. */
const registrations: Readonly<
  Record<GrantType, 'library' | ((provider: Provider, dependencies: GrantDependencies) => void)>
> = {
  authorization_code: 'library',
  client_credentials: registerClientCredentials,
  implicit: 'library',
  password: registerPassword,
  refresh_token: registerMachineRefresh,
  'urn:ietf:params:oauth:grant-type:device_code': 'library',
};

export function registerGrants(provider: Provider, dependencies: GrantDependencies): void {
  const isStrict = dependencies.securityProfile === 'strict';
  for (const name of grantNames) {
    const register = registrations[name];
    if (register !== 'library' && !(isStrict && grantFacts(name).isLegacy)) {
      register(provider, dependencies);
    }
  }
}
