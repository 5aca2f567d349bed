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
  type Tracer as ApiTracer,
  ROOT_CONTEXT,
  type Span,
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
import type { Logger } from '../logging/logger.ts';
import { createExportFailureLog } from './export-failures.ts';
import type { TracingSettings } from './open-tracer.ts';
import { formatTraceparent, parseTraceparent, type RemoteParent } from './traceparent.ts';
import type { FinishedRequest, RequestTrace, StageKind, Tracer } from './tracer.ts';

const CLOSE_MILLISECONDS = 2000;

/** The innermost span of a request, and whether the request has ended. */
interface Scope {
  readonly span: Span;
  readonly request: { ended: boolean };
}

export function createOpenTelemetryTracer(
  service: string,
  { followsCaller, ratio }: TracingSettings,
  logger: Logger,
): Tracer {
  const provider = openProvider(service, logger);
  const tracer = provider.getTracer('gatehouse');
  const scopes = new AsyncLocalStorage<Scope>();

  /** Work that a request leaves behind, such as a timer, is not part of it. */
  function currentScope(): Scope | undefined {
    const scope = scopes.getStore();
    return scope?.request.ended === true ? undefined : scope;
  }

  return {
    startRequest({ headers, method = '' }) {
      const parent = parseTraceparent(headers.traceparent);
      // By chance, and not by the trace id, which a caller can choose.
      const isSampled =
        followsCaller && parent !== undefined ? parent.sampled : Math.random() < ratio;
      if (!isSampled) {
        return parent && createUnsampledTrace(parent);
      }
      const span = tracer.startSpan(method, { kind: SpanKind.SERVER }, contextOf(parent));
      return createRequestTrace({ span, request: { ended: false } }, scopes);
    },
    stage(name, kind, work) {
      const scope = currentScope();
      return scope === undefined ? work() : runStage(name, kind, work, scope);
    },
    step(name, seconds, failed) {
      const scope = currentScope();
      if (scope !== undefined) {
        const end = epochMilliseconds();
        const span = startChild(tracer, name, SpanKind.CLIENT, scope, end - seconds * 1000);
        finish(span, failed, end);
      }
    },
    async close() {
      const timer = AbortSignal.timeout(CLOSE_MILLISECONDS);
      const late = new Promise<void>((resolve) => timer.addEventListener('abort', () => resolve()));
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
    },
  };

  function runStage<Result>(
    name: string,
    kind: StageKind,
    work: () => Result,
    scope: Scope,
  ): Result {
    const spanKind = kind === 'call' ? SpanKind.CLIENT : SpanKind.INTERNAL;
    const span = startChild(tracer, name, spanKind, scope, epochMilliseconds());
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
  }
}

function openProvider(service: string, logger: Logger): TracerProvider {
  const exporter = new OTLPTraceExporter();
  const report = createExportFailureLog(logger);
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

function contextOf(parent: RemoteParent | undefined) {
  return parent === undefined
    ? ROOT_CONTEXT
    : trace.setSpanContext(ROOT_CONTEXT, {
        traceId: parent.traceId,
        spanId: parent.spanId,
        traceFlags: TraceFlags.SAMPLED,
        isRemote: true,
      });
}

function startChild(
  tracer: ApiTracer,
  name: string,
  kind: SpanKind,
  { span }: Scope,
  startTime: number,
): Span {
  return tracer.startSpan(name, { kind, startTime }, trace.setSpan(ROOT_CONTEXT, span));
}

function finish(span: Span, failed: boolean, endTime: number): void {
  if (failed) {
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end(endTime);
}

/** Services must not record a request that this process does not record. */
function createUnsampledTrace(parent: RemoteParent): RequestTrace {
  return {
    run: (handle) => handle(),
    traceparent: () => formatTraceparent({ ...parent, sampled: false }),
    end: () => undefined,
  };
}

function createRequestTrace(scope: Scope, scopes: AsyncLocalStorage<Scope>): RequestTrace {
  const { span, request } = scope;
  return {
    run: (handle) => scopes.run(scope, handle),
    traceparent() {
      const { traceId, spanId } = (scopes.getStore() ?? scope).span.spanContext();
      return formatTraceparent({ traceId, spanId, sampled: true });
    },
    end(line) {
      request.ended = true;
      const { operation = 'unmatched', status } = line;
      span.updateName(`${line.method} ${operation}`);
      span.setAttributes(attributesOf(line));
      finish(span, (status ?? 0) >= 500, epochMilliseconds());
    },
  };
}

function attributesOf(line: FinishedRequest) {
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

function epochMilliseconds(): number {
  return performance.timeOrigin + performance.now();
}
