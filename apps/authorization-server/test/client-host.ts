/** A server of a client: its keys and its logout address, as real authorization servers reach them. */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { makeCertificate } from '@gatehouse/testing';
import { listenForTests, temporaryFolder } from '@gatehouse/testing/suite';

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
  return {
    url: `https://localhost:${await listenForTests(server)}`,
    calls: calls as readonly ReceivedCall[],
    environment: { NODE_EXTRA_CA_CERTS: certificateFile },
    settings: { privateHosts: ['localhost'] },
  };
}
