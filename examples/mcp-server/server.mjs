// An MCP server behind the gateway (Streamable HTTP). It has no OAuth code: the gateway rejects
// calls without a token for this server, and sends an internal token that names the user.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createRemoteJWKSet, jwtVerify } from 'jose';

const {
  GATEWAY_URL = 'http://localhost:8844',
  GATEWAY_JWKS_URL = 'http://localhost:8944/.well-known/jwks.json',
  PORT = '8870',
} = process.env;
const keys = createRemoteJWKSet(new URL(GATEWAY_JWKS_URL));
const expected = {
  algorithms: ['EdDSA'],
  typ: 'at+jwt',
  issuer: GATEWAY_URL,
  audience: 'mcp',
  maxTokenAge: 60,
  clockTolerance: 5,
};
// The sessions of this process, by their id. A session belongs to the user who opened it.
const sessions = new Map();
const MAXIMUM_SESSIONS = 1000;

async function openSession(owner) {
  const server = new McpServer({ name: 'gatehouse-example', version: '1.0.0' });
  server.registerTool('whoami', { description: 'Tells who calls.' }, ({ authInfo }) => ({
    content: [{ type: 'text', text: authInfo.extra.name }],
  }));
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, { transport, owner }),
    onsessionclosed: (id) => sessions.delete(id),
  });
  await server.connect(transport);
  return transport;
}

async function handle(request, response) {
  const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
  const { payload } = await jwtVerify(token, keys, expected);
  const id = request.headers['mcp-session-id'];
  const session = sessions.get(id);
  if (id !== undefined && session?.owner !== payload.sub) {
    response.writeHead(404).end();
    return;
  }
  if (session === undefined && sessions.size >= MAXIMUM_SESSIONS) {
    response.writeHead(503).end();
    return;
  }
  const transport = session?.transport ?? (await openSession(payload.sub));
  const name = payload.preferred_username ?? payload.client_id;
  const scopes = payload.scope.split(' ');
  request.auth = { token, clientId: payload.client_id, scopes, extra: { name } };
  await transport.handleRequest(request, response);
}

createServer((request, response) => {
  handle(request, response).catch((error) => {
    // Without the gateway's keys, no token can be verified. The caller did nothing wrong: 503.
    const isRejected = /^ERR_J(WT|WS|OSE)/.test(error.code ?? '');
    response.writeHead(isRejected ? 401 : 503).end();
  });
}).listen(Number(PORT), '127.0.0.1', () => console.log(`listening on port ${PORT}`));
