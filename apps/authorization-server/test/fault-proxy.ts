import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** The fault of the connection that carries a command: it is cut, or the reply never arrives. */
export type Fault = 'cut' | 'stall';

/** A proxy between a process and Redis that drops one reply after Redis executed the command. */
export interface FaultProxy {
  readonly port: number;
  /** Drops the reply to the next command that contains the text. */
  loseReplyOf(text: string, fault: Fault): LostReply;
  stop(): Promise<void>;
}

export interface LostReply {
  /** Resolves when Redis has sent the reply. */
  readonly sent: Promise<void>;
  isSent(): boolean;
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
    loseReplyOf(text, fault) {
      const { promise: sent, resolve } = Promise.withResolvers<void>();
      let isSent = false;
      const applied = () => {
        isSent = true;
        resolve();
      };
      awaited = { text, fault, applied };
      return { sent, isSent: () => isSent };
    },
    async stop() {
      for (const socket of sockets) {
        socket.destroy();
      }
      server.close();
      await once(server, 'close');
    },
  };
}
