/**
 * `docker compose run --rm demo`: creates the demo organization, client, user and device, and
 * prints the commands of `npm start`. A second run changes nothing and prints the same text.
 */
import { readFileSync } from 'node:fs';
import {
  applyBootstrap,
  type Demo,
  demoDefinition,
  loadMasterKey,
  openIdentity,
  readOrCreateDemo,
} from '@gatehouse/identity';
import { isLoopbackUrl } from '@gatehouse/server/configuration';
import { createStore } from '@gatehouse/store';
import { startMessage } from '../start-message.ts';
import { createDemoDevice } from './demo-device.ts';

const authorizationServerUrl = process.env.AUTHORIZATION_SERVER_URL ?? '';
const gatewayUrl = process.env.GATEWAY_URL ?? '';
const consoleUrl = process.env.CONSOLE_URL;

if (!isLoopbackUrl(authorizationServerUrl) || !isLoopbackUrl(gatewayUrl)) {
  fail(
    'AUTHORIZATION_SERVER_URL and GATEWAY_URL must be loopback addresses, because the demo is insecure.',
  );
}
try {
  const demo = readOrCreateDemo(
    '/data',
    `http://localhost:${process.env.DEMO_APPLICATION_PORT || 9010}/callback`,
  );
  await register(demo);
  await createDemoDevice(demo);
  console.log(
    startMessage({
      authorizationServerUrl,
      gatewayUrl,
      ...(consoleUrl && { consoleUrl }),
      explorer: true,
      deviceService: 'private, behind the gateway',
      demo,
      closing:
        'Before you sign in, start the demo application: docker compose up -d demo-application\n' +
        "To stop, run docker compose --profile '*' down. It keeps the data and the secrets; with -v it deletes them.",
    }),
  );
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}

async function register(demo: Demo): Promise<void> {
  const store = createStore(readFileSync('/secrets/store/store-url', 'utf8').trim());
  const masterKey = loadMasterKey('/secrets/store/master.key', false);
  try {
    await applyBootstrap(demoDefinition(demo, gatewayUrl), openIdentity({ store, masterKey }));
  } finally {
    await store.close();
  }
}

function fail(reason: string): never {
  console.error(`Cannot create the demo: ${reason}`);
  process.exit(1);
}
