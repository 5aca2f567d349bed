/** The website of a client, and the connector that leads a guarded fetch to it. */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { makeCertificate } from '@gatehouse/testing';
import { listenForTests, temporaryFolder } from '@gatehouse/testing/suite';
import { buildConnector } from 'undici';
import type { Outbound } from '../src/guarded-fetch.ts';

/** Starts an https server for these names, for the tests of the file that awaits it. */
export async function startWebsite(names: readonly string[]) {
  const certificate = makeCertificate(temporaryFolder(), names);
  const site = {
    handle: (_request: IncomingMessage, response: ServerResponse): unknown => response.end(),
    open: new Set<Socket>(),
    /** The addresses to which a fetch wanted to connect. */
    dialed: [] as string[],
    /** Leads every connection to this server. */
    dial: (({ lookup, ...options }) => {
      const connect = buildConnector({
        ...options,
        ca: certificate.authority,
        lookup: (name, wanted, callback) =>
          lookup(name, wanted, (_error, addresses) => {
            site.dialed.push(...[addresses].flat().map((each) => Object(each).address));
            callback(null, [{ address: '127.0.0.1', family: 4 }]);
          }),
      });
      return (target, callback) => connect({ ...target, port: String(port) }, callback);
    }) satisfies Outbound['createConnector'],
  };
  const { certificateFile, keyFile } = certificate;
  const files = { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
  const server = createServer(files, (request, response) => site.handle(request, response));
  server.on('secureConnection', (socket: Socket) => {
    site.open.add(socket);
    socket.once('close', () => site.open.delete(socket)).on('error', () => undefined);
  });
  const port = await listenForTests(server);
  return Object.assign(site, { port, authority: certificate.authority });
}
