// A client of the Model Context Protocol, with the settings of its documentation. It prints the
// address that the user opens, receives the code, calls a tool and prints the result. Then it opens
// the stream of its session, and prints when it ends.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const { SERVER_URL, CLIENT_ID, CLIENT_METADATA_URL, PORT } = process.env;
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const callback = createServer();
callback.listen(Number(PORT ?? 0), '127.0.0.1');
await once(callback, 'listening');
const redirectUrl = `http://127.0.0.1:${callback.address().port}/callback`;

const saved = {};
const provider = {
  redirectUrl,
  clientMetadataUrl: CLIENT_METADATA_URL,
  clientMetadata: {
    client_name: 'MCP client',
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
  },
  clientInformation: () => (CLIENT_ID ? { client_id: CLIENT_ID } : saved.client),
  saveClientInformation: (client) => {
    saved.client = client;
  },
  tokens: () => saved.tokens,
  saveTokens: (tokens) => {
    saved.tokens = tokens;
  },
  codeVerifier: () => saved.verifier,
  saveCodeVerifier: (verifier) => {
    saved.verifier = verifier;
  },
  redirectToAuthorization: (address) => print({ address: address.href }),
};

const connect = async () => {
  const transport = new StreamableHTTPClientTransport(new URL(SERVER_URL), {
    authProvider: provider,
  });
  const client = new Client({ name: 'test', version: '1.0.0' });
  try {
    await client.connect(transport);
    return { client, transport };
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) {
      throw error;
    }
    const [request, response] = await once(callback, 'request');
    const { searchParams } = new URL(request.url, redirectUrl);
    response.end('You can close this page.');
    await transport.finishAuth(searchParams.get('code'), searchParams.get('iss') ?? undefined);
    return connect();
  }
};

print({ state: 'listening' });
const { client, transport } = await connect();
const { content } = await client.callTool({ name: 'whoami', arguments: {} });
print({ tool: content[0].text });

for await (const command of createInterface({ input: process.stdin })) {
  if (command === 'refresh') {
    saved.tokens = { ...saved.tokens, access_token: 'expired' };
    const again = await client.callTool({ name: 'whoami', arguments: {} });
    print({ tool: again.content[0].text });
  } else if (command === 'stream') {
    // The client library has its own stream, so this one belongs to a new session.
    const headers = { authorization: `Bearer ${saved.tokens.access_token}` };
    const started = await fetch(SERVER_URL, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
        params: {
          ...{ protocolVersion: transport.protocolVersion, capabilities: {} },
          clientInfo: { name: 'stream', version: '1.0.0' },
        },
      }),
    });
    await started.text();
    const session = { 'mcp-session-id': started.headers.get('mcp-session-id') };
    const stream = await fetch(SERVER_URL, {
      headers: { ...headers, ...session, accept: 'text/event-stream' },
    });
    print({ stream: stream.status, token: saved.tokens.access_token });
    stream.text().then(
      () => print({ stream: 'ended' }),
      () => print({ stream: 'ended' }),
    );
  }
}
