import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A connection on which tests say what no HTTP client would. */
export interface RawConnection {
  readonly socket: Socket;
  send(text: string): void;
  /** What has come so far. */
  received(): string;
  /** Waits until the text has come, and resolves to everything. */
  until(text: string | RegExp): Promise<string>;
  /** Waits until the other side has ended the connection, and resolves to everything. */
  ended(): Promise<string>;
}

const DEADLINE_MILLISECONDS = 5000;

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
