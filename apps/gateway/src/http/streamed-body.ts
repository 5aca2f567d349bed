/** Receives a body as it arrives. */
export interface BodySink {
  /** Returns false when the body must wait until `resume`. */
  write(chunk: Buffer): boolean;
  end(): void;
  fail(error: unknown): void;
}

/** The body of a reply that is arriving from an upstream. */
export interface StreamedBody {
  /** The Content-Length of the reply, if it has one. */
  readonly announcedLength: string | undefined;
  /** The whole body, if it is already complete. */
  arrived(): Buffer | undefined;
  connect(sink: BodySink): void;
  resume(): void;
  /** Ends the exchange with the upstream. The sink fails with the error. */
  cancel(error: Error): void;
}
