/** A message from the supervisor to a worker: a question, or the order to end. */
export type MessageToWorker = Question | 'end';

export interface Question {
  readonly id: number;
  readonly asks: 'live' | 'readiness' | 'metrics' | 'document';
  /** The path of the document. */
  readonly path?: string;
  /** With `live`: the connections that the worker may keep open. It answers with their number. */
  readonly mostConnections?: number;
}

/** A message from a worker. `ready`: it has started. */
export type MessageFromWorker = Answer | 'ready';

export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  /** The question has no answer, because the worker failed to find it. */
  readonly failed?: true;
}
