export { createLogger, type Logger, type LoggerOptions } from './logging/logger.ts';
export type { Histogram } from './metrics/histogram.ts';
export type { LabelledCells } from './metrics/labelled-cells.ts';
export {
  type Counter,
  createMetricsRegistry,
  type MetricsRegistry,
  type Sample,
} from './metrics/metrics-registry.ts';
export { addProcessMetrics } from './metrics/process-metrics.ts';
export { collectMasterKey } from './operations/master-key-metric.ts';
export {
  createOperations,
  type OperationsOptions,
  type ReadinessCheck,
} from './operations/operations.ts';
export { type OperationsServer, serveOperations } from './operations/operations-server.ts';
export { type StoreSignals, storeSignals } from './operations/store-signals.ts';
export { readSharedStyles } from './page-styles/shared-styles.ts';
export { type DeferredListener, deferListener } from './process/deferred-listener.ts';
export { type RetriedStart, retryStart } from './process/retry-start.ts';
export { type App, runApp } from './process/run-app.ts';
export {
  exitOnUnhandledErrors,
  type RunningApp,
  type RunOptions,
  runProcess,
} from './process/run-process.ts';

export { type ServedApp, type ServingOptions, serveApp } from './process/serve-app.ts';
export { addressGroup } from './requests/address-group.ts';
export {
  type AddressMatcher,
  createAddressMatcher,
  unmappedAddress,
} from './requests/address-matcher.ts';
export {
  type ObservedRequest,
  observedRequest,
  observeRequests,
  type RequestDependent,
  type RequestNotes,
} from './requests/observed-request.ts';
export { parseStrictJson, StrictJsonError } from './requests/parse-strict-json.ts';
export { createRequestLogMetrics } from './requests/request-log-metrics.ts';
export { createRequestMetrics, type RequestObserver } from './requests/request-metrics.ts';
export {
  createRequestRecorder,
  type RecordedRequest,
  type RequestRecorder,
} from './requests/request-recorder.ts';
export { sendContinue } from './server/continue.ts';
export { isHost } from './server/host.ts';
export { lingerBeforeClose } from './server/linger-before-close.ts';
export { explainPortInUse } from './server/port-in-use.ts';
export {
  type ListenOptions,
  type RunningServer,
  serve,
  type UpgradeListener,
} from './server/serve.ts';
export { serverLimits } from './server/server-limits.ts';
export { transferEncodingProblem } from './server/transfer-encoding.ts';
export { openTracer, type TracingSettings } from './tracing/open-tracer.ts';
export { type StageKind, type Tracer, traced } from './tracing/tracer.ts';
