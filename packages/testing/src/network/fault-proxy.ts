import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** From where a connection comes: servers of a topology bind their outgoing ones to an address of their own. */
export type Side = 'clients' | 'servers';

/** Where the servers of a topology connect from: `bind-source-addr`. */
export const SERVER_SOURCE_ADDRESS = '127.0.0.2';

/** A TCP port in front of another, which can fail the way a network does. */
export interface FaultProxy {
  readonly port: number;
  /** Where it leads from now on. */
  lead(targetPort: number): void;
  /** Connections of this side stay open and new ones are accepted, but no byte arrives any more. */
  cut(side: Side): void;
  /** Each piece of data arrives this much later, in order. */
  delay(side: Side, milliseconds: number): void;
  /** Ends the fault. What was cut starts again with new connections, as after a partition. */
  heal(): void;
  stop(): Promise<void>;
}

interface Fault {
  isCut: boolean;
  delayMilliseconds: number;
}

export async function startFaultProxy(): Promise<FaultProxy> {
  let targetPort = 0;
  const faults: Record<Side, Fault> = {
    clients: { isCut: false, delayMilliseconds: 0 },
    servers: { isCut: false, delayMilliseconds: 0 },
  };
  const connections = new Map<Socket, Side>();
  const server = createServer((incoming) => {
    const side: Side =
      incoming.remoteAddress?.endsWith(SERVER_SOURCE_ADDRESS) === true ? 'servers' : 'clients';
    const outgoing = connect(targetPort, '127.0.0.1');
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      connections.set(from, side);
      from.setNoDelay(true);
      from.on('data', (data) => pass(data, to, faults[side]));
      from.on('error', () => undefined);
      from.on('close', () => {
        connections.delete(from);
        // The end of a connection does not cross a cut either.
        if (!faults[side].isCut) {
          to.destroy();
        }
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') {
    throw new Error('The proxy has no port.');
  }
  return {
    port: address.port,
    lead(port) {
      targetPort = port;
    },
    cut(side) {
      faults[side].isCut = true;
    },
    delay(side, milliseconds) {
      faults[side].delayMilliseconds = milliseconds;
    },
    heal() {
      for (const [connection, side] of connections) {
        if (faults[side].isCut) {
          connection.destroy();
        }
      }
      for (const fault of Object.values(faults)) {
        fault.isCut = false;
        fault.delayMilliseconds = 0;
      }
    },
    async stop() {
      server.close();
      for (const connection of connections.keys()) {
        connection.destroy();
      }
      await once(server, 'close');
    },
  };
}

function pass(data: Buffer, to: Socket, { isCut, delayMilliseconds }: Fault): void {
  if (isCut) {
    return;
  }
  if (delayMilliseconds === 0) {
    to.write(data);
  } else {
    setTimeout(() => to.write(data), delayMilliseconds);
  }
}
