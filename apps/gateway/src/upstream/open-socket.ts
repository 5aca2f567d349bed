import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/**
 * Opens a connection. `onRead` must copy the bytes that it keeps before it returns: the next read of
 * any connection overwrites them.
 */
export type OpenSocket = (onRead: (bytes: Buffer, length: number) => void) => Socket;

/** Most replies arrive in one read. */
const BUFFER_BYTES = 64 * 1024;

/** Where a service listens. */
export interface ServiceAddress {
  readonly url: URL;
  /** Path of a Unix socket to connect to instead of the host and port of the URL. */
  readonly socketPath?: string | undefined;
}

/** Connections to one service, with TLS if its URL has the scheme https. */
export function createSocketOpener({ url, socketPath }: ServiceAddress): OpenSocket {
  const { protocol, hostname, port } = url;
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const common = { host, noDelay: true, autoSelectFamily: true };
  if (protocol !== 'https:') {
    // All connections share one buffer, because Node reads and calls back in one step.
    const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
    return (onRead) => {
      const callback = (length: number) => {
        onRead(buffer, length);
        return true;
      };
      // Reads into one buffer without a stream, which saves CPU time (bench/gateway).
      const onread = { buffer, callback };
      return socketPath === undefined
        ? connect({ ...common, port: Number(port || 80), onread })
        : connect({ path: socketPath, onread });
    };
  }
  // The session of the last connection shortens the next handshake.
  let session: Buffer | undefined;
  return (onRead) => {
    const socket = connectTls({
      ...common,
      port: Number(port || 443),
      session,
      servername: isIP(host) === 0 ? host : '',
      ALPNProtocols: ['http/1.1'],
    });
    socket.on('session', (given) => {
      session = given;
    });
    socket.on('data', (bytes) => onRead(bytes, bytes.length));
    return socket;
  };
}
