import type { IncomingMessage } from 'node:http';
import type { Logger } from './logger.ts';
import type { RequestLine } from './request-line.ts';

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
type StageKind = 'internal' | 'call';

export interface RequestTrace {
  /** Runs the request, so that its stages and steps find its span. */
  run(handle: () => void): void;
  /** The header with which a service continues the trace (W3C Trace Context). */
  traceparent(): string;
  /** @param line the log line of the request, which contains no secret */
  end(line: RequestLine): void;
}

export interface TracerOptions {
  readonly app: string;
  readonly logger: Logger;
  /** Records only the requests that the caller records, and ignores the sampler. */
  readonly onlyFollowsCaller?: boolean;
}

/**
 * Opens the tracer of an app, if the standard variables of OpenTelemetry name a receiver. Only then
 * does the process load OpenTelemetry.
 */
export async function openTracer(options: TracerOptions): Promise<Tracer | undefined> {
  // biome-ignore lint/style/noProcessEnv: the variables of OpenTelemetry, which its exporter reads there
  const environment = process.env;
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_ENDPOINT } = environment;
  if (!(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || OTEL_EXPORTER_OTLP_ENDPOINT)) {
    return undefined;
  }
  const { createOpenTelemetryTracer } = await import('./open-telemetry-tracer.ts');
  return createOpenTelemetryTracer(options, environment);
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
