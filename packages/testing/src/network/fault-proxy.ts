import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listen } from './listen.ts';

/**
 * Origin of a connection. Servers of a topology bind outgoing connections to a separate address.
 */
type Side = 'clients' | 'servers';

/** Source address of the servers of a topology: `bind-source-addr`. */
export const SERVER_SOURCE_ADDRESS = '127.0.0.2';

/** A TCP proxy that can simulate network failures. */
export async function startFaultProxy() {
  let targetPort = 0;
  const faults = {
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
      from.on('data', (data) => {
        const { isCut, delayMilliseconds } = faults[side];
        if (delayMilliseconds > 0 && !isCut) {
          setTimeout(() => to.write(data), delayMilliseconds);
        } else if (!isCut) {
          to.write(data);
        }
      });
      from.on('error', () => undefined);
      from.on('close', () => {
        connections.delete(from);
        // During a cut, the end of a connection is not forwarded either.
        if (!faults[side].isCut) {
          to.destroy();
        }
      });
    }
  });
  return {
    port: await listen(server),
    /** Changes the target. */
    lead(port: number) {
      targetPort = port;
    },
    /** Drops all data of one side. Connections stay open, and new ones are accepted. */
    cut(side: Side) {
      faults[side].isCut = true;
    },
    /** Delays all data, in order. */
    delay(side: Side, milliseconds: number) {
      faults[side].delayMilliseconds = milliseconds;
    },
    /** Ends the fault. Clients need new connections, as after a partition. */
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
