import { once } from 'node:events';
import { type AddressInfo, connect, type Server } from 'node:net';

/** Lets the server listen on a free port, and resolves to the port. */
export async function listen(server: Server, host = '127.0.0.1'): Promise<number> {
  await once(server.listen(0, host), 'listening');
  return (server.address() as AddressInfo).port;
}

/** Sends bytes that HTTP clients do not send, and reads until the server closes the connection. */
export async function exchange(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).setEncoding('latin1');
  socket.write(bytes, 'latin1');
  let received = '';
  try {
    for await (const text of socket) {
      received += text;
    }
  } catch (error) {
    // A server that rejects a request may reset the connection after its reply.
    if (received === '') {
      throw error;
    }
  }
  return received;
}
