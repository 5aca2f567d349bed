// Lists all devices that the service may read, with a token of the grant client_credentials.
import { readFileSync } from 'node:fs';
import { createDeviceClient, createTokenFetch, GatehouseError } from '@gatehouse/client';

const {
  AUTHORIZATION_SERVER_URL = 'http://localhost:9000',
  GATEWAY_URL = 'http://localhost:8844',
  CLIENT_ID = 'backend-service',
  SECURE_KEY_FILE = 'secure-key.txt',
} = process.env;

const api = createTokenFetch({
  gateway: GATEWAY_URL,
  tokenEndpoint: `${AUTHORIZATION_SERVER_URL}/token`,
  clientId: CLIENT_ID,
  clientSecret: readFileSync(SECURE_KEY_FILE, 'utf8').trim(),
  scope: 'device:read',
});
const { devices } = createDeviceClient(api);

try {
  for await (const page of devices.query({ pageSize: 100, orderBy: 'id' })) {
    for (const { id, name, state } of page.data) {
      console.log(`${id}: ${name} (${state.value})`);
    }
  }
} catch (error) {
  if (!(error instanceof GatehouseError)) {
    throw error;
  }
  console.error(`Cannot list the devices: ${error.message} (${error.code})`);
  process.exitCode = 1;
}
