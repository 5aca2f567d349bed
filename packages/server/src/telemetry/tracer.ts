import type { createOpenTelemetryTracer, TracerOptions } from './open-telemetry-tracer.ts';

/**
 * Records the spans of sampled requests. An app without an OTLP endpoint has no tracer at all, so
 * tracing that is off costs nothing.
 */
export type Tracer = ReturnType<typeof createOpenTelemetryTracer>;

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
  [name, kind]: readonly [name: string, kind: 'internal' | 'call'],
  work: (...parameters: Parameters) => Result,
): (...parameters: Parameters) => Result {
  return tracer === undefined
    ? work
    : (...parameters) => tracer.stage(name, kind, () => work(...parameters));
}
