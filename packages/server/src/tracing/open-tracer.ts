import type { Logger } from '../logging/logger.ts';
import type { Tracer } from './tracer.ts';

/** Which requests get spans. */
export interface TracingSettings {
  /** A caller decides for its own requests, with the flag of its `traceparent`. */
  readonly followsCaller: boolean;
  /** The part of all other requests, 0 to 1. */
  readonly ratio: number;
}

/**
 * Opens the tracer of an app, if an OTLP endpoint is configured. Only then does the process load
 * OpenTelemetry.
 */
export async function openTracer(
  app: string,
  settings: TracingSettings | undefined,
  logger: Logger,
): Promise<Tracer | undefined> {
  if (settings === undefined) {
    return undefined;
  }
  const { createOpenTelemetryTracer } = await import('./open-telemetry-tracer.ts');
  return createOpenTelemetryTracer(`gatehouse-${app}`, settings, logger);
}
