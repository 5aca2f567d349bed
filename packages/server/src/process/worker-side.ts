/** What a worker does instead of a process of its own: share the listener, answer its supervisor. */
import type { Operations } from '../server/operations.ts';
import type { Answer, MessageToWorker, Question } from './worker-process.ts';

/**
 * Resolves when no new connections can arrive: the supervisor has closed the listener that all
 * workers share, and then the channel. The kernel gives each connection to one of the workers.
 */
export function untilListenerCloses(): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) {
      process.once('disconnect', resolve);
    } else {
      resolve();
    }
  });
}

/** Answers the supervisor. A worker has no operations port, so the questions use its channel. */
export function answerSupervisor(operations: Operations): void {
  process.on('message', (message: MessageToWorker) => {
    if (message === 'end') {
      return;
    }
    const { id } = message;
    // Without a callback, an answer after the channel has closed would end the worker with an error.
    const send = (answer: Answer) =>
      void process.send?.(answer, undefined, undefined, () => undefined);
    findAnswer(message, operations).then(
      (value) => send({ id, value }),
      () => send({ id, failed: true }),
    );
  });
}

async function findAnswer({ asks, path = '' }: Question, operations: Operations) {
  switch (asks) {
    case 'live':
      return true;
    case 'readiness':
      return operations.readiness();
    case 'metrics':
      return operations.metrics();
    case 'document':
      return operations.document(path);
  }
}
