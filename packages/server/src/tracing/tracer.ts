import type { IncomingMessage } from 'node:http';

/**
 * Records the spans of sampled requests. This is the port: an app without an OTLP endpoint has no
 * tracer at all, so tracing that is off costs nothing.
 *
 * A span never contains a URL, a header, a key of the store or the text of a statement, because
 * they can contain secrets.
 */
export interface Tracer {
  /** @returns undefined if the request is not sampled and continues no trace */
  startRequest(request: IncomingMessage): RequestTrace | undefined;
  /** Runs work in a span of the current request. Work that returns undefined has no span. */
  stage<Result>(name: string, kind: StageKind, work: () => Result): Result;
  /** Adds a span for a step of the current request that has just ended. */
  step(name: string, seconds: number, failed: boolean): void;
  /** Exports the remaining spans. Never rejects, and returns within two seconds. */
  close(): Promise<void>;
}

/** `call`: another service continues the trace. */
export type StageKind = 'internal' | 'call';

export interface RequestTrace {
  /** Runs the request, so that its stages and steps find its span. */
  run(handle: () => void): void;
  /** The header with which a service continues the trace (W3C Trace Context). */
  traceparent(): string;
  end(request: FinishedRequest): void;
}

/** The values of the log line of a request, which contains no secret. */
export interface FinishedRequest {
  readonly requestId: string;
  readonly method: string | undefined;
  readonly status: number | undefined;
  readonly aborted: boolean;
  readonly operation: string | undefined;
  readonly clientId: string | undefined;
  readonly credential: string | undefined;
  readonly code: string | undefined;
  readonly reason: string | undefined;
}

/** Runs a function in a span. Without a tracer, it is the function itself. */
export function traced<Parameters extends readonly unknown[], Result>(
  tracer: Tracer | undefined,
  [name, kind]: readonly [name: string, kind: StageKind],
  work: (...parameters: Parameters) => Result,
): (...parameters: Parameters) => Result {
  return tracer === undefined
    ? work
    : (...parameters) => tracer.stage(name, kind, () => work(...parameters));
}
