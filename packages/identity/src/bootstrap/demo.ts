import { join } from 'node:path';
import { readOrCreateSecretFile } from '@gatehouse/configuration';
import { generateSecureKey } from '../clients.ts';
import { deviceScopes, identityScopes } from '../scopes.ts';
import { type BootstrapDefinition, bootstrapSchema } from './bootstrap-schema.ts';

/** The secrets of the demo set: random for every installation, kept so that every start can print them. */
export interface Demo {
  readonly clientId: string;
  readonly secureKey: string;
  readonly redirectUri: string;
  readonly username: string;
  readonly password: string;
}

export const demoOrganizationId = 'demo';

const DEFAULT_REDIRECT_URI = 'http://localhost:9010/callback';

/** @param redirectUri where the demo application listens; counts at the first start only */
export function readOrCreateDemo(
  dataDirectory: string,
  redirectUri: string = DEFAULT_REDIRECT_URI,
): Demo {
  const file = join(dataDirectory, 'demo.json');
  const text = readOrCreateSecretFile(file, () => {
    const demo: Demo = {
      clientId: 'demo',
      secureKey: generateSecureKey(),
      redirectUri,
      username: 'alice',
      password: generateSecureKey(16),
    };
    return `${JSON.stringify(demo, null, 2)}\n`;
  });
  return JSON.parse(text) as Demo;
}

/** The demo as a bootstrap definition: one organisation, one application with every ordinary grant, one user. */
export function demoDefinition(demo: Demo): BootstrapDefinition {
  return bootstrapSchema.parse({
    organizations: [{ id: demoOrganizationId, name: 'Demo organisation' }],
    clients: [
      {
        clientId: demo.clientId,
        secureKey: demo.secureKey,
        name: 'Demo application',
        orgId: demoOrganizationId,
        grantTypes: ['authorization_code', 'client_credentials', 'refresh_token'],
        redirectUris: [demo.redirectUri],
        scopes: [...deviceScopes, ...identityScopes],
      },
    ],
    users: [
      {
        username: demo.username,
        password: demo.password,
        name: 'Alice Demo',
        orgId: demoOrganizationId,
      },
    ],
  });
}
