import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

const SECOND = 1000;

/** Set deliberately, not left to Node's defaults: an idle or trickling peer must not hold a socket. */
const serverLimits = {
  headersTimeout: 15 * SECOND,
  requestTimeout: 30 * SECOND,
  keepAliveTimeout: 20 * SECOND,
  connectionsCheckingInterval: 5 * SECOND,
  maxHeaderSize: 16 * 1024,
} as const;

const MAX_HEADERS_COUNT = 100;
const DRAIN_TIMEOUT = 10 * SECOND;

export interface ListenOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
}

export interface RunningServer {
  readonly port: number;
  /** Stops accepting, lets requests in flight finish for up to 10 s, then cuts what is left. */
  close(): Promise<void>;
}

export async function serve(
  listener: RequestListener,
  options: ListenOptions,
): Promise<RunningServer> {
  const server = createServer(serverLimits, listener);
  server.maxHeadersCount = MAX_HEADERS_COUNT;
  server.on('clientError', answerClientError);
  await listen(server, options);
  return {
    port: (server.address() as AddressInfo).port,
    close: () => drain(server),
  };
}

function listen(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: options.host, port: options.port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function drain(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), DRAIN_TIMEOUT);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** What Node's parser refused never becomes a request, so the answer is written by hand. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { status, code, message } = clientErrorReply(error.code);
  const body = JSON.stringify({ status, code, message, timestamp: Date.now() });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nCache-Control: no-store\r\n` +
      `X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n${body}`,
  );
}

function clientErrorReply(cause: string | undefined) {
  if (cause === 'HPE_HEADER_OVERFLOW') {
    return {
      status: 431,
      code: 'headers_too_large',
      message: 'The request headers are too large.',
    };
  }
  if (cause === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return { status: 408, code: 'timeout', message: 'The request took too long to arrive.' };
  }
  return { status: 400, code: 'illegal_argument', message: 'The request is not valid HTTP/1.1.' };
}
