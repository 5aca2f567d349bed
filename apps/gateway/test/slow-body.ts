import { connect, type Socket } from 'node:net';

/** A signed POST with a body that does not end. */
export interface SlowBody {
  readonly socket: Socket;
  /** The status of the reply, if one arrived. */
  status(): string | undefined;
  isOpen(): boolean;
}

export interface SlowBodyOptions {
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly announcedBytes: number;
  /** Bytes that are sent at once. */
  readonly bytes: number;
  /** Any address in 127.0.0.0/8. */
  readonly from?: string;
}

export function sendSlowBody({
  port,
  headers,
  announcedBytes,
  bytes,
  from,
}: SlowBodyOptions): SlowBody {
  const socket = connect({ port, host: '127.0.0.1', ...(from && { localAddress: from }) });
  let received = '';
  socket.on('data', (data) => {
    received += data.toString();
  });
  socket.on('error', () => {});
  const lines = Object.entries({ Host: 'gateway', ...headers }).map((pair) => pair.join(': '));
  socket.write(
    `POST /device-instance HTTP/1.1\r\nContent-Length: ${announcedBytes}\r\n${lines.join('\r\n')}\r\n\r\n`,
  );
  socket.write('x'.repeat(bytes));
  return {
    socket,
    status: () => /^HTTP\/1.1 (\d+)/.exec(received)?.[1],
    isOpen: () => received === '' && !socket.destroyed,
  };
}
