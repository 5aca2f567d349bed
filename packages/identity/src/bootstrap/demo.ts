import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deviceScopes } from '@gatehouse/device-api';
import { ConfigurationError, readOrCreateSecretFile } from '@gatehouse/server/configuration';
import { z } from 'zod';
import { parseRecord } from '../records/record.ts';
import { generateSecureKey } from '../secrets/secure-keys.ts';
import { identityScopes } from '../settings/resource.ts';
import { type BootstrapDefinition, bootstrapSchema } from './bootstrap-schema.ts';

/** The demo client and user. Each installation generates its secrets, stores and prints them. */
const storedDemo = z.object({
  clientId: z.string(),
  secureKey: z.string(),
  redirectUri: z.string(),
  username: z.string(),
  password: z.string(),
});

export type Demo = Readonly<z.infer<typeof storedDemo>>;

export const demoOrganizationId = 'demo';

export const demoFile = (dataDirectory: string): string => join(dataDirectory, 'demo.json');

const DEFAULT_REDIRECT_URI = 'http://localhost:9010/callback';

/**
 * @param redirectUri of the demo application. By default, the one in the file
 * @throws ConfigurationError if the file is damaged. The message does not quote it
 */
export function readOrCreateDemo(dataDirectory: string, redirectUri?: string): Demo {
  const text = readOrCreateSecretFile(demoFile(dataDirectory), () =>
    demoText({
      clientId: 'demo',
      secureKey: generateSecureKey(),
      redirectUri: redirectUri ?? DEFAULT_REDIRECT_URI,
      username: 'alice',
      password: generateSecureKey(16),
    }),
  );
  const demo = parseRecord(storedDemo, text);
  if (demo === undefined) {
    const message = 'contains a damaged demo.json. Delete it, and Gatehouse creates a new one';
    throw new ConfigurationError([{ name: 'DATA_DIR', message }]);
  }
  return redirectUri === undefined || redirectUri === demo.redirectUri
    ? demo
    : replaceDemo(dataDirectory, { ...demo, redirectUri });
}

/** The rename is atomic, so that other processes never read half a file. */
function replaceDemo(dataDirectory: string, demo: Demo): Demo {
  const path = demoFile(dataDirectory);
  const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`;
  writeFileSync(temporary, demoText(demo), { mode: 0o600, flag: 'wx', flush: true });
  renameSync(temporary, path);
  return demo;
}

const demoText = (demo: Demo) => `${JSON.stringify(demo, null, 2)}\n`;

/** Used to find the secrets of the demo in other files. */
export function readDemoIfPresent(dataDirectory: string): Demo | undefined {
  const path = demoFile(dataDirectory);
  return existsSync(path) ? parseRecord(storedDemo, readFileSync(path, 'utf8')) : undefined;
}

/** The client with which the API explorer of the gateway signs users in. It is public. */
export const explorerClientId = 'explorer';

/**
 * A definition with one organization, one application and one user.
 *
 * @param gatewayUrl adds the client of the API explorer at this gateway
 */
export function demoDefinition(demo: Demo, gatewayUrl?: string): BootstrapDefinition {
  return bootstrapSchema.parse({
    organizations: [{ id: demoOrganizationId, name: 'Demo organization' }],
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
      ...(gatewayUrl === undefined ? [] : [explorerClient(gatewayUrl)]),
    ],
    operators: { roles: ['operator'] },
    users: [
      {
        username: demo.username,
        password: demo.password,
        name: 'Alice Demo',
        email: 'alice@example.com',
        emailVerified: true,
        roles: ['demo', 'operator'],
        orgId: demoOrganizationId,
      },
    ],
  });
}

function explorerClient(gatewayUrl: string) {
  return {
    clientId: explorerClientId,
    name: 'API explorer',
    orgId: demoOrganizationId,
    public: true,
    grantTypes: ['authorization_code'],
    redirectUris: [`${gatewayUrl}/explorer`],
    corsOrigins: [new URL(gatewayUrl).origin],
    scopes: [...deviceScopes],
  };
}
