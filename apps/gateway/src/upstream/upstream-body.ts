import type { BodySink, StreamedBody } from '../http/streamed-body.ts';
import type { ReplyController } from './http1/connection.ts';

/** Notified when the caller stops and resumes reading. */
export interface HoldObserver {
  onHold(isHeld: boolean): void;
}

const BUFFER_LIMIT_BYTES = 64 * 1024;

/**
 * The body of an upstream's reply. It buffers data until a sink is connected. A small reply is
 * usually complete by then and leaves in one write, without the cost of a stream.
 */
export class UpstreamBody implements StreamedBody {
  readonly announcedLength: string | undefined;
  readonly #observer: HoldObserver;
  #controller: ReplyController | undefined;
  #chunks: Buffer[] = [];
  #size = 0;
  #ended = false;
  #failure: { readonly error: unknown } | undefined;
  #sink: BodySink | undefined;

  constructor(
    controller: ReplyController,
    announcedLength: string | undefined,
    observer: HoldObserver,
  ) {
    this.#controller = controller;
    this.announcedLength = announcedLength;
    this.#observer = observer;
  }

  arrived(): Buffer | undefined {
    if (!this.#ended || this.#sink !== undefined) {
      return undefined;
    }
    const [only, ...more] = this.#chunks;
    return only !== undefined && more.length === 0 ? only : Buffer.concat(this.#chunks, this.#size);
  }

  /** @throws the error that ended the body early, if it happened before a sink was connected */
  assertIntact(): void {
    if (this.#failure !== undefined) {
      throw this.#failure.error;
    }
  }

  connect(sink: BodySink): void {
    this.#sink = sink;
    const held = this.#chunks;
    this.#chunks = [];
    let wantsMore = true;
    for (const chunk of held) {
      wantsMore = sink.write(chunk);
    }
    if (this.#failure !== undefined) {
      sink.fail(this.#failure.error);
    } else if (this.#ended) {
      sink.end();
    } else if (wantsMore) {
      this.resume();
    } else {
      this.#pause();
    }
  }

  resume(): void {
    if (this.#controller !== undefined) {
      this.#controller.resume();
      this.#observer.onHold(false);
    }
  }

  cancel(error: Error): void {
    this.#controller?.abort(error);
  }

  push(chunk: Buffer): void {
    if (this.#sink === undefined) {
      this.#chunks.push(chunk);
      this.#size += chunk.length;
      if (this.#size > BUFFER_LIMIT_BYTES) {
        this.#pause();
      }
    } else if (!this.#sink.write(chunk)) {
      this.#pause();
    }
  }

  end(): void {
    this.#ended = true;
    this.#controller = undefined;
    this.#sink?.end();
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.#controller = undefined;
    this.#sink?.fail(error);
  }

  #pause(): void {
    if (this.#controller !== undefined) {
      this.#controller.pause();
      this.#observer.onHold(true);
    }
  }
}
