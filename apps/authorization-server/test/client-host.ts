/** A server of a client: its keys and its logout address, as real authorization servers reach them. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { makeCertificate } from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll } from '@jest/globals';

export interface ReceivedCall {
  readonly path: string;
  readonly body: string;
}

/**
 * Starts a server with a private address, which operators have to list.
 *
 * @returns `environment` lets processes trust the certificate
 */
export async function startClientHost(
  answer: (call: ReceivedCall, response: ServerResponse, request: IncomingMessage) => void,
) {
  const { certificateFile, keyFile } = makeCertificate(temporaryFolder(), ['localhost']);
  const tls = { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
  const calls: ReceivedCall[] = [];
  const server = createServer(tls, async (request, response) => {
    const call = { path: request.url ?? '', body: await text(request) };
    calls.push(call);
    answer(call, response, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    calls: calls as readonly ReceivedCall[],
    environment: { NODE_EXTRA_CA_CERTS: certificateFile },
    settings: { privateHosts: ['localhost'] },
  };
}
