import type { Redis } from 'ioredis';
import { atEndOfTurn } from '../end-of-turn.ts';
import { OPERATION_DEADLINE_MILLISECONDS } from '../store.ts';
import { NO_REPLY, UnsafeRedisError } from './redis-outage-reason.ts';
import { sendScript } from './redis-scripts.ts';
import { durabilityWarnings, parseReplication, RequiredReplicas } from './required-replicas.ts';

/** Redis checks the timeout of a WAIT ten times a second, so it can reply 100 ms late. */
const LONGEST_WAIT_MILLISECONDS = OPERATION_DEADLINE_MILLISECONDS - 150;
const SHORTEST_WAIT_MILLISECONDS = 50;
const LEARN_AGAIN_MILLISECONDS = 1000;
const fence = ['', 'PX', 60_000] as const;

export interface Write<Reply> {
  readonly command: (client: Redis) => Promise<Reply>;
  /** Whether the caller has received a timeout. */
  readonly isExpired: () => boolean;
}

interface SharedByBatches {
  /** By the replication id of their data set. All connections share them. */
  readonly requiredReplicas: Map<string, RequiredReplicas>;
  /** Returns a key of the server, to which each batch writes its fence. */
  readonly findFenceKey: () => string;
  /** Receives warnings about settings that an operator should change. */
  readonly warn: (message: string) => void;
}

interface QueuedWrite extends PromiseWithResolvers<unknown> {
  readonly run: () => Promise<unknown>;
  readonly startedAt: number;
}

/**
 * Sends writes to one server, and returns their results only after its replicas have acknowledged
 * them.
 *
 *   writes … ─▶ fence ─▶ WAIT ─▶ replies      (writes that arrive during this form the next batch)
 *
 * WAIT blocks its connection, so this connection carries only these writes, and one WAIT confirms a
 * whole batch (group commit). WAIT covers only the last change that its connection made, and a
 * repeated claim or deletion changes nothing. The fence is a write that always makes a change.
 * Replicas apply writes in order, so its acknowledgment covers all writes before it.
 */
export class ConfirmedBatches {
  readonly #client: Redis;
  readonly #shared: SharedByBatches;
  #queue: QueuedWrite[] = [];
  #isBusy = false;
  #required = new RequiredReplicas();
  #learnedOn: Redis['stream'] | undefined;
  #learnedAt = 0;

  constructor(client: Redis, shared: SharedByBatches) {
    this.#client = client;
    this.#shared = shared;
  }

  /** @throws UnsafeRedisError, or the error of the write itself */
  add<Reply>({ command, isExpired }: Write<Reply>): Promise<Reply> {
    const run = () => (isExpired() ? Promise.reject(new Error(NO_REPLY)) : command(this.#client));
    if (!this.#isBusy && this.#isCurrent() && this.#required.count === 0) {
      return run();
    }
    const queued = { run, startedAt: performance.now(), ...Promise.withResolvers<unknown>() };
    this.#queue.push(queued);
    if (!this.#isBusy) {
      this.#isBusy = true;
      atEndOfTurn(() => this.#work());
    }
    return queued.promise as Promise<Reply>;
  }

  async #work(): Promise<void> {
    while (this.#queue.length > 0) {
      // Writes that arrive during this belong to the batch.
      const learning = this.#learn();
      await learning.catch(() => undefined);
      const batch = this.#queue;
      this.#queue = [];
      try {
        await learning;
        await this.#confirm(batch);
      } catch (error) {
        for (const { reject } of batch) {
          reject(error);
        }
      }
    }
    this.#isBusy = false;
  }

  async #confirm(batch: readonly QueuedWrite[]): Promise<void> {
    if (this.#client.status !== 'ready') {
      throw new Error('The connection was lost.');
    }
    const { count: required } = this.#required;
    const { stream } = this.#client;
    stream.cork();
    const replies = batch.map(({ run }) => run());
    const confirmation = required === 0 ? undefined : this.#wait(required, batch);
    stream.uncork();
    const outcomes = batch.map(({ resolve }, index) => {
      // A rejected write does not affect the others of the batch.
      const outcome = Promise.all([replies[index], confirmation]).then(([reply]) => reply);
      resolve(outcome);
      return outcome;
    });
    await Promise.allSettled(outcomes);
  }

  async #wait(required: number, batch: readonly QueuedWrite[]): Promise<void> {
    const oldest = Math.min(...batch.map(({ startedAt }) => startedAt));
    const remaining = Math.floor(LONGEST_WAIT_MILLISECONDS - (performance.now() - oldest));
    const timeout = Math.max(SHORTEST_WAIT_MILLISECONDS, remaining);
    const [, confirmed] = await Promise.all([
      // A full server must accept the fence, because deletions there need confirmation too.
      sendScript(this.#client, 'setAlways', [this.#shared.findFenceKey()], fence),
      this.#client.wait(required, timeout),
    ]);
    if (confirmed < required) {
      throw new UnsafeRedisError(
        `${confirmed} of ${required} Redis replicas confirmed a write in time. ` +
          'Check that the replicas run and follow the master.',
      );
    }
  }

  #isCurrent(): boolean {
    return (
      this.#client.stream !== undefined &&
      this.#client.stream === this.#learnedOn &&
      performance.now() - this.#learnedAt < LEARN_AGAIN_MILLISECONDS
    );
  }

  /** Asks over the current connection, because a failover may have replaced the server. */
  async #learn(): Promise<void> {
    if (this.#isCurrent()) {
      return;
    }
    const learnedAt = performance.now();
    const [replication, persistence] = await Promise.all([
      this.#client.info('replication'),
      this.#client.info('persistence'),
    ]);
    const report = parseReplication(replication);
    durabilityWarnings(report, persistence).forEach(this.#shared.warn);
    const { requiredReplicas } = this.#shared;
    this.#required = requiredReplicas.get(report.history) ?? new RequiredReplicas();
    requiredReplicas.set(report.history, this.#required);
    this.#required.learn(report, learnedAt);
    this.#learnedOn = this.#client.stream;
    this.#learnedAt = learnedAt;
  }
}
