/**
 * The baseline: oidc-provider with its defaults and in-memory adapter. It serves only
 * client_credentials.
 */
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const port = Number(process.argv[2]);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: 'bench',
      client_secret: 'benchKey0123456789abc',
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
    },
  ],
  features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
  scopes: ['device:read'],
});
createServer(provider.callback()).listen(port, '127.0.0.1', () => process.send?.('ready'));
