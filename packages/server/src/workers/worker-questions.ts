import type { Worker } from 'node:cluster';
import type { Answer, Question } from './worker-messages.ts';

/** Longer than the deadline of a readiness check, and within that of a probe of Kubernetes. */
const ANSWER_DEADLINE_MILLISECONDS = 900;

export interface WorkerQuestions {
  /** Rejects if no answer arrives in time. */
  ask(question: Omit<Question, 'id'>): Promise<unknown>;
  settle(answer: Answer): void;
  failAll(): void;
}

export function createWorkerQuestions(worker: Worker): WorkerQuestions {
  const open = new Map<number, PromiseWithResolvers<unknown>>();
  let asked = 0;

  function settle({ id, value, failed }: Answer): void {
    const answer = open.get(id);
    open.delete(id);
    if (failed) {
      answer?.reject(new Error('The worker has no answer.'));
    } else {
      answer?.resolve(value);
    }
  }

  return {
    ask(question) {
      if (!worker.isConnected()) {
        return Promise.reject(new Error('The worker has no channel.'));
      }
      asked += 1;
      const id = asked;
      const answer = Promise.withResolvers<unknown>();
      open.set(id, answer);
      const late = setTimeout(() => settle({ id, failed: true }), ANSWER_DEADLINE_MILLISECONDS);
      // A worker that has just ended cannot receive it, which `failAll` reports.
      worker.send({ ...question, id }, () => undefined);
      return answer.promise.finally(() => clearTimeout(late));
    },
    settle,
    failAll() {
      for (const id of [...open.keys()]) {
        settle({ id, failed: true });
      }
    },
  };
}
