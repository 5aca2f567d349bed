import type { Operations } from '../operations/operations.ts';
import type { Answer, MessageToWorker, Question } from './worker-messages.ts';

/** Answers the supervisor. A worker has no operations port, so the questions use its channel. */
export function answerSupervisor(operations: Operations): void {
  process.on('message', (message: MessageToWorker) => {
    if (message === 'end') {
      return;
    }
    const { id } = message;
    const send = (answer: Answer) => void process.send?.(answer);
    findAnswer(message, operations).then(
      (value) => send({ id, value }),
      () => send({ id, failed: true }),
    );
  });
}

async function findAnswer({ asks, path = '' }: Question, operations: Operations): Promise<unknown> {
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
