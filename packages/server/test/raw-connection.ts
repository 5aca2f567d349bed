import { once } from 'node:events';
import { connect } from 'node:net';
import { until } from '@gatehouse/testing';

export type RawConnection = ReturnType<typeof openRawConnection>;

/** Opens a connection for input that HTTP clients do not send. */
export function openRawConnection(port: number) {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (data) => {
    text += data.toString('latin1');
  });
  socket.on('error', () => undefined);
  const closed = once(socket, 'close').catch(() => undefined);
  return {
    socket,
    send: (data: string) => socket.write(data, 'latin1'),
    /** Data received so far. */
    received: () => text,
    /** Waits for a text and resolves to all received data. */
    async until(expected: string | RegExp) {
      await until(() => text.match(expected) !== null);
      return text;
    },
    /** Waits until the other side ends the connection, and resolves to all received data. */
    async ended() {
      await closed;
      return text;
    },
  };
}
