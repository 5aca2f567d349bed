/**
 * The tracer that uses the OpenTelemetry SDK, and the only file that imports it.
 *
 *   observeRequests ─▶ startRequest ─▶ run ─┬▶ stage (authenticate, forward, …)
 *                                           └▶ step (store, database), from their measurements
 *
 * The SDK reads the standard variables of the exporter, such as OTEL_EXPORTER_OTLP_HEADERS. A span
 * never contains a URL, a header, a key of the store or the text of a statement, because they can
 * contain secrets.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { globalErrorHandler, parseTraceParent, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Logger, RequestLine } from './logger.ts';

const CLOSE_MILLISECONDS = 2000;

export interface TracerOptions {
  readonly app: string;
  readonly logger: Logger;
  /** Default: that of the variables of OpenTelemetry. */
  readonly sampler?: string;
}

export function createOpenTelemetryTracer(options: TracerOptions, environment: NodeJS.ProcessEnv) {
  const sampler = readSampler(options, environment);
  const provider = openProvider(options);
  const tracer = provider.getTracer('gatehouse');
  const spans = new AsyncLocalStorage<Span>();

  /** Undefined for work that a request leaves behind, such as a timer. */
  function startChild(name: string, kind: SpanKind, startTime: number): Span | undefined {
    const parent = spans.getStore();
    return parent?.isRecording()
      ? tracer.startSpan(name, { kind, startTime }, trace.setSpan(ROOT_CONTEXT, parent))
      : undefined;
  }

  return {
    /** @returns undefined if the request is not sampled and continues no trace */
    startRequest({ headers, method = '' }: IncomingMessage) {
      const parent = parseTraceParent(String(headers.traceparent)) ?? undefined;
      // By chance, and not by the trace id, which a caller can choose.
      const isSampled =
        parent && sampler.followsCaller
          ? (parent.traceFlags & TraceFlags.SAMPLED) !== 0
          : Math.random() < sampler.ratio;
      const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
      // Services must not record a request that this process does not record.
      const span = isSampled
        ? tracer.startSpan(method, { kind: SpanKind.SERVER }, context)
        : parent && trace.wrapSpanContext({ ...parent, traceFlags: TraceFlags.NONE });
      return span && createRequestTrace(span, spans);
    },
    /** Runs work in a span of the current request. Work that returns undefined has no span. */
    stage<Result>(name: string, kind: 'internal' | 'call', work: () => Result): Result {
      const spanKind = kind === 'call' ? SpanKind.CLIENT : SpanKind.INTERNAL;
      const span = startChild(name, spanKind, epochMilliseconds());
      return span === undefined ? work() : runStage(span, () => spans.run(span, work));
    },
    /** Adds a span for a step of the current request that has just ended. */
    step(name: string, seconds: number, failed: boolean): void {
      const end = epochMilliseconds();
      finish(startChild(name, SpanKind.CLIENT, end - seconds * 1000), failed, end);
    },
    /** Exports the remaining spans. Never rejects, and returns within two seconds. */
    async close(): Promise<void> {
      const late = sleep(CLOSE_MILLISECONDS, undefined, { ref: false });
      await Promise.race([provider.shutdown().catch(globalErrorHandler), late]);
    },
  };
}

/** The SDK leaves the variables of the sampler to its users. */
function readSampler(
  { sampler, logger }: TracerOptions,
  { OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG }: NodeJS.ProcessEnv,
) {
  const name = sampler ?? (OTEL_TRACES_SAMPLER || 'parentbased_always_on');
  const ratios: Readonly<Record<string, number>> = { always_on: 1, always_off: 0 };
  const kind = name.replace('parentbased_', '');
  const ratio = kind === 'traceidratio' ? Number(OTEL_TRACES_SAMPLER_ARG || 1) : ratios[kind];
  if (ratio !== undefined && ratio >= 0 && ratio <= 1) {
    return { followsCaller: name.startsWith('parentbased_'), ratio };
  }
  logger.warn('OTEL_TRACES_SAMPLER: unknown sampler or argument. Using parentbased_always_on.');
  return { followsCaller: true, ratio: 1 };
}

function openProvider({ app, logger }: TracerOptions): TracerProvider {
  // The reply of the receiver is not logged.
  setGlobalErrorHandler((error) => {
    logger.warn({ failure: String(Object(error).code) }, 'traces not exported');
  });
  return new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': `gatehouse-${app}` }))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: new AlwaysOnSampler(),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
}

function createRequestTrace(span: Span, spans: AsyncLocalStorage<Span>) {
  return {
    /** Runs the request, so that its stages and steps find its span. */
    run: (handle: () => void) => spans.run(span, handle),
    /** The header with which a service continues the trace (W3C Trace Context). */
    traceparent(): string {
      const { traceId, spanId, traceFlags } = (spans.getStore() ?? span).spanContext();
      return `00-${traceId}-${spanId}-0${traceFlags}`;
    },
    /** @param line the log line of the request, which contains no secret */
    end(line: RequestLine): void {
      span.updateName(`${line.method} ${line.operation ?? 'unmatched'}`);
      span.setAttributes({
        'http.request.method': line.method,
        'http.response.status_code': line.status,
        'http.route': line.operation,
        'gatehouse.request_id': line.requestId,
        'gatehouse.client_id': line.clientId,
        'gatehouse.credential': line.credential,
        'gatehouse.aborted': line.aborted || undefined,
        'error.type': line.code,
        'gatehouse.reason': line.reason,
      });
      finish(span, (line.status ?? 0) >= 500);
    },
  };
}

function runStage<Result>(span: Span, work: () => Result): Result {
  try {
    const result = work();
    if (result !== undefined) {
      Promise.resolve(result).then(
        () => finish(span, false),
        () => finish(span, true),
      );
    }
    return result;
  } catch (error) {
    finish(span, true);
    throw error;
  }
}

function finish(span: Span | undefined, failed: boolean, endTime = epochMilliseconds()): void {
  if (failed) {
    span?.setStatus({ code: SpanStatusCode.ERROR });
  }
  span?.end(endTime);
}

function epochMilliseconds(): number {
  return performance.timeOrigin + performance.now();
}
