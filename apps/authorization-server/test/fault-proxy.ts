import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What happens to the connection that carries a command: its reply is lost, or never comes. */
export type Fault = 'cut' | 'stall';

/** Stands between a process and its Redis, and loses one reply after Redis has done what was asked. */
export interface FaultProxy {
  readonly port: number;
  /** Resolves when Redis has answered the next command that contains this text. */
  loseReplyOf(text: string, fault: Fault): Promise<void>;
  stop(): Promise<void>;
}

export async function startFaultProxy(targetPort: number): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  let awaited: { text: string; fault: Fault; applied: () => void } | undefined;

  const server = createServer((client) => {
    const redis = connect(targetPort, '127.0.0.1');
    let fault: Fault | undefined;
    let applied = () => {};
    for (const socket of [client, redis]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        redis.destroy();
      });
    }
    client.on('data', (chunk) => {
      if (awaited !== undefined && chunk.includes(awaited.text)) {
        ({ fault, applied } = awaited);
        awaited = undefined;
      }
      redis.write(chunk);
    });
    redis.on('data', (chunk) => {
      if (fault === undefined) {
        client.write(chunk);
        return;
      }
      applied();
      if (fault === 'cut') {
        client.destroy();
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    loseReplyOf: (text, fault) =>
      new Promise((resolve) => {
        awaited = { text, fault, applied: resolve };
      }),
    async stop() {
      for (const socket of sockets) {
        socket.destroy();
      }
      server.close();
      await once(server, 'close');
    },
  };
}
