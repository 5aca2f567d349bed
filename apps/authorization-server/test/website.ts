/** The website of a client, and the connector that leads a guarded fetch to it. */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { makeCertificate } from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll } from '@jest/globals';
import type { Outbound } from '../src/guarded-fetch.ts';

/** Starts an https server for these names, for the tests of the file that awaits it. */
export async function startWebsite(names: readonly string[]) {
  const certificate = makeCertificate(temporaryFolder(), names);
  const site = {
    handle: (_request: IncomingMessage, response: ServerResponse): unknown => response.end(),
    open: new Set<Socket>(),
    /** The addresses to which a fetch wanted to connect. */
    dialed: [] as string[],
    /** Leads every connection to this server. `arrivesAt` is what the socket reports. */
    dial:
      (arrivesAt = (address: string) => address): NonNullable<Outbound['connect']> =>
      ({ hostname, servername }, callback) => {
        site.dialed.push(hostname);
        const options = { host: '127.0.0.1', port, servername, ca: certificate.authority };
        const socket = connectTls(options);
        Object.defineProperty(socket, 'remoteAddress', { value: arrivesAt(hostname) });
        socket.once('secureConnect', () => callback(null, socket));
        socket.once('error', (error) => callback(error, null));
      },
  };
  const { certificateFile, keyFile } = certificate;
  const files = { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
  const server = createServer(files, (request, response) => site.handle(request, response));
  server.on('secureConnection', (socket: Socket) => {
    site.open.add(socket);
    socket.once('close', () => site.open.delete(socket)).on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return Object.assign(site, { port, authority: certificate.authority });
}
