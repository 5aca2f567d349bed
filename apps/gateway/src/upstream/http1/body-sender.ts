import type { Socket } from 'node:net';
import type { BodyStream } from './outgoing-request.ts';

/**
 * Sends a body while it arrives. A body of another length than announced fails the exchange: the
 * service would read the next request as a part of it (CWE-444).
 */
export class BodySender {
  readonly #socket: Socket;
  readonly #body: BodyStream;
  readonly #fail: (error: Error) => void;
  #sent = 0;
  #isOver = false;

  constructor(socket: Socket, body: BodyStream, fail: (error: Error) => void) {
    this.#socket = socket;
    this.#body = body;
    this.#fail = fail;
    const { stream } = body;
    socket.on('drain', this.#onDrain);
    stream.on('data', this.#onData);
    stream.once('end', this.#onEnd);
    stream.once('error', this.#onError);
  }

  /** The complete body is written. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Stops sending. */
  stop(): void {
    const { stream } = this.#body;
    this.#socket.off('drain', this.#onDrain);
    stream.off('data', this.#onData);
    stream.off('end', this.#onEnd);
    stream.off('error', this.#onError);
    stream.destroy();
  }

  readonly #onDrain = () => {
    this.#body.stream.resume();
  };

  readonly #onData = (chunk: Buffer) => {
    const { stream, length } = this.#body;
    this.#sent += chunk.length;
    if (length !== undefined && this.#sent > length) {
      this.#fail(new Error('The body is longer than announced.'));
      return;
    }
    if (!this.#write(chunk, length === undefined)) {
      stream.pause();
    }
  };

  readonly #onEnd = () => {
    const { length } = this.#body;
    if (length !== undefined && this.#sent < length) {
      this.#fail(new Error('The body is shorter than announced.'));
      return;
    }
    this.#isOver = true;
    if (length === undefined) {
      this.#socket.write('0\r\n\r\n');
    }
  };

  readonly #onError = (error: Error) => this.#fail(error);

  #write(chunk: Buffer, isChunk: boolean): boolean {
    if (!isChunk) {
      return this.#socket.write(chunk);
    }
    // An empty chunk would end the body.
    if (chunk.length === 0) {
      return true;
    }
    this.#socket.cork();
    this.#socket.write(`${chunk.length.toString(16)}\r\n`);
    this.#socket.write(chunk);
    const wantsMore = this.#socket.write('\r\n');
    this.#socket.uncork();
    return wantsMore;
  }
}
