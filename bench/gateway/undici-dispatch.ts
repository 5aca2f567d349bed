/**
 * The fastest proxy on undici without verification: `dispatch` with raw headers. It forwards the
 * reply unchanged.
 */
import { createServer, type ServerResponse } from 'node:http';
import { type Dispatcher, Pool } from 'undici';

const pool = new Pool(`http://127.0.0.1:${process.argv[3]}`, { connections: 256 });

class Handler implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  onRequestStart(): void {}

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    const raw = controller.rawHeaders as Buffer[] | undefined;
    if (raw === undefined) {
      this.#response.writeHead(status, headers);
      return;
    }
    this.#response.writeHead(
      status,
      raw.map((each) => each.toString('latin1')),
    );
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#response.write(chunk);
  }

  onResponseEnd(): void {
    this.#response.end();
  }

  onResponseError(): void {
    this.#response.destroy();
  }
}

const server = createServer((request, response) => {
  const { rawHeaders } = request;
  const headers: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.toLowerCase() !== 'connection' && name.toLowerCase() !== 'host') {
      headers.push(name, rawHeaders[index + 1] ?? '');
    }
  }
  const hasBody = request.headers['content-length'] !== undefined;
  pool.dispatch(
    {
      method: (request.method ?? 'GET') as Dispatcher.HttpMethod,
      path: request.url ?? '/',
      headers,
      body: hasBody ? request : null,
    },
    new Handler(response),
  );
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.send?.('ready'));
process.once('SIGTERM', () => process.exit());
