/** A message from the supervisor to a worker: a question, or the order to end. */
export type MessageToWorker = Question | 'end';

export interface Question {
  readonly id: number;
  readonly asks: 'live' | 'readiness' | 'metrics' | 'document';
  /** With `document`. */
  readonly path?: string;
  /** With `live`: the connections that the worker may keep open. It answers with their number. */
  readonly connectionLimit?: number;
}

/** A message from a worker: `starting` every second until it is `ready`, then answers. */
export type MessageFromWorker = Answer | 'starting' | 'ready';

export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  /** The question has no answer, because the worker failed to find it. */
  readonly failed?: true;
}
