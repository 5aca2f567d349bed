import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request as openRequest,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** Distributes requests over the processes that report ready, as a load balancer does. */
export interface LoadBalancer {
  readonly url: string;
  /** Requests that got no reply from any process, with the reason. */
  readonly failures: readonly string[];
  close(): Promise<void>;
}

export interface Backend {
  readonly url: string;
  /** URL of `/ready`. If undefined, every process counts as ready until a connection fails. */
  readonly operationsUrl?: string;
}

const LOOK_MILLISECONDS = 200;
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const HOP_BY_HOP: ReadonlySet<string> = new Set(['connection', 'transfer-encoding', 'keep-alive']);

/**
 * Follows the defaults of nginx. Connections are kept alive. If a process refuses a connection, the
 * request goes to the next process. If a connection breaks before a reply, only idempotent requests
 * do. Everything else is a failure.
 */
export async function startLoadBalancer(options: {
  readonly port?: number;
  readonly backends: readonly Backend[];
}): Promise<LoadBalancer> {
  const { backends } = options;
  const agent = new Agent({ keepAlive: true });
  const failures: string[] = [];
  const ready = new Set(backends);
  let turn = 0;

  async function look(): Promise<void> {
    await Promise.all(
      backends.map(async (backend) => {
        if (backend.operationsUrl === undefined) {
          return;
        }
        const isReady = await fetch(`${backend.operationsUrl}/ready`, {
          headers: { Connection: 'close' },
          signal: AbortSignal.timeout(1000),
        }).then(
          (reply) => reply.ok,
          () => false,
        );
        if (isReady) {
          ready.add(backend);
        } else {
          ready.delete(backend);
        }
      }),
    );
  }

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = Buffer.concat(await incoming.toArray());
    // If no process is ready, try all of them, because a busy machine can delay a readiness check.
    const inTurn = ready.size === 0 ? backends : [...ready];
    const first = turn++;
    const tried: string[] = [];
    for (let i = 0; i < inTurn.length; i += 1) {
      const backend = inTurn[(first + i) % inTurn.length];
      if (backend === undefined) {
        break;
      }
      try {
        const reply = await send(backend, incoming, body, agent);
        outgoing.writeHead(reply.statusCode ?? 502, endToEnd(reply.rawHeaders));
        reply.pipe(outgoing);
        return;
      } catch (error) {
        const { code = String(error) } = error as NodeJS.ErrnoException;
        tried.push(`${backend.url} ${code}`);
        if (code !== 'ECONNREFUSED' && !IDEMPOTENT.has(incoming.method ?? '')) {
          break;
        }
      }
    }
    failures.push(`${incoming.method} ${incoming.url?.split('?', 1)[0]}: ${tried.join(', ')}`);
    outgoing.writeHead(502).end();
  }

  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  await look();
  const looking = setInterval(() => void look(), LOOK_MILLISECONDS);
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
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
  backend: Backend,
  { method, url, rawHeaders }: IncomingMessage,
  body: Buffer,
  agent: Agent,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(backend.url);
    const headers = endToEnd(rawHeaders, ['content-length']);
    if (body.length > 0) {
      headers.push('Content-Length', String(body.length));
    }
    const request = openRequest({
      host: '127.0.0.1',
      port,
      method,
      path: url,
      agent,
      headers: headers as unknown as Record<string, string>,
    });
    request.once('response', resolve);
    request.once('error', reject);
    request.end(body);
  });
}

/**
 * Omits the headers that describe one connection. The backends announce a longer keep-alive time
 * than this server uses.
 */
function endToEnd(rawHeaders: readonly string[], omitted: readonly string[] = []): string[] {
  return rawHeaders.filter((_text, i, all) => {
    const name = all[i - (i % 2)]?.toLowerCase() ?? '';
    return !HOP_BY_HOP.has(name) && !omitted.includes(name);
  });
}
