export { readSharedStyles } from './page-styles/shared-styles.ts';
export { deferListener, type RetriedStart, retryStart } from './process/retry-start.ts';
export { type App, runApp, type ServedApp } from './process/run-app.ts';
export { exitOnUnhandledErrors, type RunningApp, runProcess } from './process/run-process.ts';
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
export {
  allowedMethods,
  createRouter,
  pathParameters,
  pathShape,
  type RoutedTarget,
  type Router,
  type RouterMatch,
  splitPath,
} from './requests/router.ts';
export { parseStrictJson, StrictJsonError } from './requests/strict-json.ts';
export { atEndOfTurn } from './server/end-of-turn.ts';
export { explainPortInUse } from './server/listen.ts';
export { messageProblem } from './server/message-framing.ts';
export { createOperations, type OperationsOptions, serveOperations } from './server/operations.ts';
export { lingerBeforeClose, sendContinue } from './server/request-body.ts';
export {
  type RunningServer,
  type ServeOptions,
  serve,
  type UpgradeListener,
} from './server/serve.ts';
export { serverLimits } from './server/server-limits.ts';
export { createLogger, type Logger } from './telemetry/logger.ts';
export {
  type Counter,
  createMetricsRegistry,
  type MetricsRegistry,
  type Sample,
} from './telemetry/metrics-registry.ts';
export { addProcessMetrics, collectMasterKey } from './telemetry/process-metrics.ts';
export { storeSignals } from './telemetry/store-signals.ts';
export { openTracer, type Tracer, traced } from './telemetry/tracer.ts';
