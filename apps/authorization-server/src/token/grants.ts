import type { Grants } from '../provider/clients.ts';
import { clientCredentials, machineRefresh } from './client-credentials.ts';
import { password } from './password.ts';

/** All grants, by the name that a token request and the registration of a client use. */
export const grants: Grants = {
  authorization_code: {
    isOfPlatform: true,
    parameters: ['code', 'code_verifier', 'redirect_uri'],
    secrets: ['code'],
  },
  client_credentials: clientCredentials,
  implicit: { isLegacy: true },
  password,
  refresh_token: machineRefresh,
  'urn:ietf:params:oauth:grant-type:device_code': { secrets: ['device_code'] },
};

/** In a URL, these would reach logs and histories. */
export const secretParameters = Object.values(grants).flatMap(({ secrets = [] }) => secrets);

/** What a token request at the platform endpoint can contain for its grant. */
export const platformParameters = Object.values(grants).flatMap(
  ({ isOfPlatform, parameters = [] }) => (isOfPlatform ? parameters : []),
);
