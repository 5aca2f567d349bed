import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request as openRequest,
  type ServerResponse,
} from 'node:http';
import type { AppName } from '../servers/app-process.ts';
import {
  type ConstellationOptions,
  type Member,
  startConstellation,
} from '../servers/constellation.ts';
import { freePort } from './free-port.ts';

type Backend = Pick<Member, 'url' | 'operationsUrl'>;

const LOOK_MILLISECONDS = 200;
const ofOneConnection = /^(?:connection|transfer-encoding|keep-alive)$/i;

/** Two authorization servers and two gateways, each pair behind a load balancer. */
export async function startBalancedSystem(options: ConstellationOptions) {
  const [issuerPort, gatewayPort] = [await freePort(), await freePort()];
  const authorizationServerUrl = `http://localhost:${issuerPort}`;
  const gatewayUrl = `http://localhost:${gatewayPort}`;
  const servers = ['authorization-server', 'authorization-server'] as const;
  const system = await startConstellation({
    apps: ['device-service', ...servers, 'gateway', 'gateway'],
    ...options,
    environment: {
      AUTHORIZATION_SERVER_URL: authorizationServerUrl,
      GATEWAY_URL: gatewayUrl,
      TRUSTED_PROXIES: '127.0.0.1,::1',
      ...options.environment,
    },
  });
  const balance = (app: AppName, port: number) =>
    startLoadBalancer(
      port,
      system.members.filter((member) => member.app === app),
    );
  const balancers = [
    await balance('authorization-server', issuerPort),
    await balance('gateway', gatewayPort),
  ];
  return {
    system,
    authorizationServerUrl,
    gatewayUrl,
    /** Requests that got no reply from any process, with the reason. */
    failures: () => balancers.flatMap(({ failures }) => failures),
    async stop() {
      await Promise.all(balancers.map((balancer) => balancer.close()));
      await system.stop();
    },
  };
}

/**
 * Distributes requests over the processes that report ready, with the defaults of nginx.
 * Connections are kept alive. If a process refuses a connection, the request goes to the next
 * process. If a connection breaks before a reply, only idempotent requests do. Everything else is
 * a failure.
 */
async function startLoadBalancer(port: number, backends: readonly Backend[]) {
  const agent = new Agent({ keepAlive: true });
  const failures: string[] = [];
  const ready = new Set(backends);
  let turn = 0;

  async function look(backend: Backend): Promise<void> {
    const headers = { Connection: 'close' };
    const signal = AbortSignal.timeout(1000);
    const isReady = await fetch(`${backend.operationsUrl}/ready`, { headers, signal }).then(
      (reply) => reply.ok,
      () => false,
    );
    ready[isReady ? 'add' : 'delete'](backend);
  }

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = '', url = '' } = incoming;
    const body = Buffer.concat(await incoming.toArray());
    // If no process is ready, try all of them, because a busy machine can delay a readiness check.
    const inTurn = ready.size === 0 ? backends : [...ready];
    turn += 1;
    const tried: string[] = [];
    for (const index of inTurn.keys()) {
      const backend = inTurn[(turn + index) % inTurn.length] as Backend;
      try {
        const reply = await send(backend, incoming, body, agent);
        outgoing.writeHead(reply.statusCode ?? 502, endToEnd(reply.rawHeaders));
        reply.pipe(outgoing);
        return;
      } catch (error) {
        const { code = String(error) } = error as NodeJS.ErrnoException;
        tried.push(`${backend.url} ${code}`);
        if (code !== 'ECONNREFUSED' && method !== 'GET' && method !== 'HEAD') {
          break;
        }
      }
    }
    failures.push(`${method} ${url.split('?', 1)[0]}: ${tried.join(', ')}`);
    outgoing.writeHead(502).end();
  }

  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy());
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const looking = setInterval(() => void backends.map(look), LOOK_MILLISECONDS);
  return {
    failures,
    async close() {
      clearInterval(looking);
      agent.destroy();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function send(
  { url: base }: Backend,
  { method, url, rawHeaders }: IncomingMessage,
  body: Buffer,
  agent: Agent,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = endToEnd(rawHeaders) as unknown as Record<string, string>;
    const { port } = new URL(base);
    const request = openRequest({ host: '127.0.0.1', port, method, path: url, agent, headers });
    request.once('response', resolve).once('error', reject).end(body);
  });
}

/** Omits the headers of one connection: the backends announce a longer keep-alive time. */
function endToEnd(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_text, i, all) => !ofOneConnection.test(all[i - (i % 2)] ?? ''));
}
