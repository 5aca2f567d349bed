import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A connection for input that HTTP clients do not send. */
export interface RawConnection {
  readonly socket: Socket;
  send(text: string): void;
  /** Data received so far. */
  received(): string;
  /** Waits for a text and resolves to all received data. */
  until(text: string | RegExp): Promise<string>;
  /** Waits until the other side ends the connection, and resolves to all received data. */
  ended(): Promise<string>;
}

const DEADLINE_MILLISECONDS = 20_000;

export function openRawConnection(port: number): RawConnection {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  let closed = false;
  socket.on('data', (data) => {
    received += data.toString('latin1');
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    closed = true;
  });

  async function waitFor(isThere: () => boolean, what: string): Promise<string> {
    const deadline = performance.now() + DEADLINE_MILLISECONDS;
    while (!isThere()) {
      if (performance.now() > deadline) {
        throw new Error(`Waited in vain for ${what}; received: ${received}`);
      }
      await sleep(5);
    }
    return received;
  }

  return {
    socket,
    send: (text) => socket.write(text, 'latin1'),
    received: () => received,
    until: (text) =>
      waitFor(
        () => (typeof text === 'string' ? received.includes(text) : text.test(received)),
        String(text),
      ),
    ended: () => waitFor(() => closed, 'the end'),
  };
}
