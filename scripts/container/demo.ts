/**
 * `docker compose run --rm demo`: fills a tier that runs in containers with the demo organisation, client, user and
 * device, and prints the commands of `npm start`. Run again, it changes nothing and prints the same.
 */
import { readFileSync } from 'node:fs';
import { isLoopbackUrl } from '@gatehouse/configuration';
import {
  applyBootstrap,
  type Demo,
  demoDefinition,
  loadMasterKey,
  openIdentity,
  readOrCreateDemo,
} from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import { startMessage } from '../start-message.ts';
import { createDemoDevice } from './demo-device.ts';

const authorizationServerUrl = process.env.AUTHORIZATION_SERVER_URL ?? '';
const gatewayUrl = process.env.GATEWAY_URL ?? '';

if (!isLoopbackUrl(authorizationServerUrl) || !isLoopbackUrl(gatewayUrl)) {
  refuse('the demo is for loopback addresses; a public address must not serve it.');
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
      deviceService: 'private, behind the gateway',
      demo,
      closing:
        'The application that the browser comes back to is not running yet: docker compose up -d demo-application\n' +
        'docker compose down stops everything, and keeps the data and the secrets; with -v it deletes them.',
    }),
  );
} catch (error) {
  refuse(error instanceof Error ? error.message : String(error));
}

async function register(demo: Demo): Promise<void> {
  const store = createStore(readFileSync('/secrets/store/store-url', 'utf8').trim());
  const masterKey = loadMasterKey('/secrets/store/master.key', false);
  try {
    await applyBootstrap(demoDefinition(demo), openIdentity({ store, masterKey }));
  } finally {
    await store.close();
  }
}

function refuse(reason: string): never {
  console.error(`The demo was not made: ${reason}`);
  process.exit(1);
}
