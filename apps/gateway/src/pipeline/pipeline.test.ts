import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { createLogger, observeRequests } from '@gatehouse/server';
import { expect, test } from '@jest/globals';
import type { Pipeline } from './exchange.ts';
import { createPipeline } from './pipeline.ts';

test('A connection that breaks during an upgrade does not end the process.', () => {
  const socket = new Socket();
  const request = new IncomingMessage(socket);
  const observeNothing = () => () => undefined;
  const { upgrades } = createPipeline({} as Pipeline, observeNothing);
  upgrades.handle(request, socket, Buffer.of());
  expect(() => socket.emit('error', new Error('The caller reset the connection.'))).not.toThrow();
  expect(socket.destroyed).toBe(true);
});

test('A defect during an upgrade closes the connection.', async () => {
  const socket = new Socket();
  const logger = createLogger({ app: 'test', level: 'silent' });
  const dependencies = {
    isTrustedProxy: () => false,
    limits: { countAddress: async () => undefined },
    auditFailure() {
      throw new Error('a defect');
    },
  } as unknown as Pipeline;
  const { upgrades } = createPipeline(dependencies, (listener) =>
    observeRequests(listener, logger),
  );
  const closed = once(socket, 'close', { signal: AbortSignal.timeout(5000) });
  upgrades.handle(new IncomingMessage(socket), socket, Buffer.of());
  await closed;
  expect(socket.destroyed).toBe(true);
});
