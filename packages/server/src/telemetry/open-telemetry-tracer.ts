/**
 * The tracer that uses the OpenTelemetry SDK, and the only file that imports it.
 *
 *   observeRequests ─▶ startRequest ─▶ run ─┬▶ stage (authenticate, forward, …)
 *                                           └▶ step (store, database), from their measurements
 *
 * The SDK reads the standard variables of the exporter, such as OTEL_EXPORTER_OTLP_HEADERS.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type SpanExporter,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from './logger.ts';
import type { RequestLine } from './request-line.ts';
import type { RequestTrace, Tracer, TracerOptions } from './tracer.ts';

const CLOSE_MILLISECONDS = 2000;
const REPORT_INTERVAL_MILLISECONDS = 60_000;

/** The innermost span of a request, and whether the request has ended. */
interface Scope {
  readonly span: Span;
  readonly request: { ended: boolean };
}

export function createOpenTelemetryTracer(
  { app, logger, onlyFollowsCaller = false }: TracerOptions,
  environment: NodeJS.ProcessEnv,
): Tracer {
  const { followsCaller, ratio } = onlyFollowsCaller
    ? { followsCaller: true, ratio: 0 }
    : readSampler(environment, logger);
  const provider = openProvider(`gatehouse-${app}`, logger);
  const tracer = provider.getTracer('gatehouse');
  const scopes = new AsyncLocalStorage<Scope>();

  /** Work that a request leaves behind, such as a timer, is not part of it. */
  function currentScope(): Scope | undefined {
    const scope = scopes.getStore();
    return scope?.request.ended === true ? undefined : scope;
  }

  function startChild(name: string, kind: SpanKind, { span }: Scope, startTime: number): Span {
    return tracer.startSpan(name, { kind, startTime }, trace.setSpan(ROOT_CONTEXT, span));
  }

  return {
    startRequest({ headers, method = '' }) {
      const parent = parseTraceparent(headers.traceparent);
      // By chance, and not by the trace id, which a caller can choose.
      const isSampled =
        followsCaller && parent !== undefined
          ? (parent.traceFlags & TraceFlags.SAMPLED) !== 0
          : Math.random() < ratio;
      if (!isSampled) {
        return parent && createUnsampledTrace(parent);
      }
      const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
      const span = tracer.startSpan(method, { kind: SpanKind.SERVER }, context);
      return createRequestTrace({ span, request: { ended: false } }, scopes);
    },
    stage(name, kind, work) {
      const scope = currentScope();
      if (scope === undefined) {
        return work();
      }
      const spanKind = kind === 'call' ? SpanKind.CLIENT : SpanKind.INTERNAL;
      const span = startChild(name, spanKind, scope, epochMilliseconds());
      const end = (failed: boolean) => finish(span, failed, epochMilliseconds());
      try {
        const result = scopes.run({ ...scope, span }, work);
        if (result instanceof Promise) {
          result.then(
            () => end(false),
            () => end(true),
          );
        } else if (result !== undefined) {
          end(false);
        }
        return result;
      } catch (error) {
        end(true);
        throw error;
      }
    },
    step(name, seconds, failed) {
      const scope = currentScope();
      if (scope !== undefined) {
        const end = epochMilliseconds();
        finish(startChild(name, SpanKind.CLIENT, scope, end - seconds * 1000), failed, end);
      }
    },
    async close() {
      const timer = AbortSignal.timeout(CLOSE_MILLISECONDS);
      const late = new Promise<void>((resolve) => timer.addEventListener('abort', () => resolve()));
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
    },
  };
}

/** The SDK leaves the variables of the sampler to its users. */
function readSampler(
  { OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG }: NodeJS.ProcessEnv,
  logger: Logger,
): { readonly followsCaller: boolean; readonly ratio: number } {
  const name = OTEL_TRACES_SAMPLER || 'parentbased_always_on';
  const followsCaller = name.startsWith('parentbased_');
  const ratios = new Map([
    ['always_on', 1],
    ['always_off', 0],
    ['traceidratio', Number(OTEL_TRACES_SAMPLER_ARG || 1)],
  ]);
  const ratio = ratios.get(name.replace('parentbased_', '')) ?? Number.NaN;
  if (ratio >= 0 && ratio <= 1) {
    return { followsCaller, ratio };
  }
  logger.warn('OTEL_TRACES_SAMPLER: unknown sampler or argument. Using parentbased_always_on.');
  return { followsCaller: true, ratio: 1 };
}

function openProvider(service: string, logger: Logger): TracerProvider {
  const exporter = new OTLPTraceExporter();
  let reported = Number.NEGATIVE_INFINITY;
  /** At most once a minute. The reply of the receiver is not logged. */
  function report({ code }: Error & { readonly code?: unknown }): void {
    if (performance.now() - reported >= REPORT_INTERVAL_MILLISECONDS) {
      reported = performance.now();
      logger.warn({ failure: typeof code === 'object' ? undefined : code }, 'traces not exported');
    }
  }
  const reporting: SpanExporter = {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.error !== undefined) {
          report(result.error);
        }
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
  };
  return new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': service }))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: new AlwaysOnSampler(),
    spanProcessors: [new BatchSpanProcessor({ exporter: reporting })],
  });
}

/** Services must not record a request that this process does not record. */
function createUnsampledTrace(parent: SpanContext): RequestTrace {
  return {
    run: (handle) => handle(),
    traceparent: () => formatTraceparent({ ...parent, traceFlags: TraceFlags.NONE }),
    end: () => undefined,
  };
}

function createRequestTrace(scope: Scope, scopes: AsyncLocalStorage<Scope>): RequestTrace {
  const { span, request } = scope;
  return {
    run: (handle) => scopes.run(scope, handle),
    traceparent: () => formatTraceparent((scopes.getStore() ?? scope).span.spanContext()),
    end(line) {
      request.ended = true;
      span.updateName(`${line.method} ${line.operation ?? 'unmatched'}`);
      span.setAttributes(attributesOf(line));
      finish(span, (line.status ?? 0) >= 500, epochMilliseconds());
    },
  };
}

function attributesOf(line: RequestLine) {
  return {
    'http.request.method': line.method,
    'http.response.status_code': line.status,
    'http.route': line.operation,
    'gatehouse.request_id': line.requestId,
    'gatehouse.client_id': line.clientId,
    'gatehouse.credential': line.credential,
    'gatehouse.aborted': line.aborted || undefined,
    'error.type': line.code,
    'gatehouse.reason': line.reason,
  };
}

function finish(span: Span, failed: boolean, endTime: number): void {
  if (failed) {
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end(endTime);
}

const TRACEPARENT =
  /^(?!ff)(?<version>[0-9a-f]{2})-(?!0+-)(?<traceId>[0-9a-f]{32})-(?!0+-)(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})(?<rest>-.*)?$/;

/**
 * Reads a `traceparent` header (W3C Trace Context §3.2). An invalid header counts as none. Later
 * versions may append fields.
 */
export function parseTraceparent(header: unknown): SpanContext | undefined {
  const fields = typeof header === 'string' ? TRACEPARENT.exec(header)?.groups : undefined;
  const { version, traceId = '', spanId = '', flags = '', rest } = fields ?? {};
  if (fields === undefined || (version === '00' && rest !== undefined)) {
    return undefined;
  }
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  return { traceId, spanId, traceFlags, isRemote: true };
}

export function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-0${traceFlags & TraceFlags.SAMPLED}`;
}

function epochMilliseconds(): number {
  return performance.timeOrigin + performance.now();
}
