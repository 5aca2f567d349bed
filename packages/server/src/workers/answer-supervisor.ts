import type { Operations } from '../server/operations.ts';
import type { RunningServer } from '../server/serve.ts';
import type { Answer, MessageToWorker, Question } from './worker-messages.ts';

/** Answers the supervisor. A worker has no operations port, so the questions use its channel. */
export function answerSupervisor(operations: Operations, server: RunningServer): void {
  process.on('message', (message: MessageToWorker) => {
    if (message === 'end') {
      return;
    }
    const { id } = message;
    // Without a callback, an answer after the channel has closed would end the worker with an error.
    const send = (answer: Answer) =>
      void process.send?.(answer, undefined, undefined, () => undefined);
    findAnswer(message, operations, server).then(
      (value) => send({ id, value }),
      () => send({ id, failed: true }),
    );
  });
}

async function findAnswer(
  { asks, path = '', connectionLimit = Number.POSITIVE_INFINITY }: Question,
  operations: Operations,
  server: RunningServer,
): Promise<unknown> {
  switch (asks) {
    case 'live':
      return server.connections.limitConnections(connectionLimit);
    case 'readiness':
      return operations.readiness();
    case 'metrics':
      return operations.metrics();
    case 'document':
      return operations.document(path);
  }
}
