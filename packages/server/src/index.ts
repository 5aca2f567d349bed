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
export {
  type AddressMatcher,
  addressGroup,
  createAddressMatcher,
  unmappedAddress,
} from './requests/addresses.ts';
export {
  type ObservedRequest,
  observedRequest,
  observeRequests,
  type RequestDependent,
  type RequestNotes,
} from './requests/observed-request.ts';
export {
  createRequestLogMetrics,
  createRequestMetrics,
  type RequestObserver,
} from './requests/request-metrics.ts';
export {
  createRequestRecorder,
  type RecordedRequest,
  type RequestRecorder,
} from './requests/request-recorder.ts';
export { parseStrictJson, StrictJsonError } from './requests/strict-json.ts';
export { sendContinue } from './server/continue.ts';
export { isHost } from './server/host.ts';
export { lingerBeforeClose } from './server/linger-before-close.ts';
export {
  createOperations,
  type OperationsOptions,
  type OperationsServer,
  type ReadinessCheck,
  serveOperations,
} from './server/operations.ts';
export { explainPortInUse } from './server/port-in-use.ts';
export {
  type ListenOptions,
  type RunningServer,
  serve,
  type UpgradeListener,
} from './server/serve.ts';
export { serverLimits } from './server/server-limits.ts';
export { transferEncodingProblem } from './server/transfer-encoding.ts';
export type { Histogram, LabelledCells } from './telemetry/cells.ts';
export { createLogger, type Logger, type LoggerOptions } from './telemetry/logger.ts';
export {
  type Counter,
  createMetricsRegistry,
  type MetricsRegistry,
  type Sample,
} from './telemetry/metrics-registry.ts';
export { addProcessMetrics, collectMasterKey } from './telemetry/process-metrics.ts';
export { type StoreSignals, storeSignals } from './telemetry/store-signals.ts';
export {
  openTracer,
  type StageKind,
  type Tracer,
  traced,
} from './telemetry/tracer.ts';
