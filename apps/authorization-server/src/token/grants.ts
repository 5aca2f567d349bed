import { type GrantType, grantFacts, grantNames } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import type { SecurityProfile } from '../provider/clients.ts';
import type { SignIn } from '../throttle/sign-in-throttle.ts';
import { registerClientCredentials, registerMachineRefresh } from './client-credentials.ts';
import { registerPassword } from './password.ts';

interface GrantDependencies {
  readonly securityProfile: SecurityProfile;
  readonly signIn: SignIn;
}

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
