export { fill, foreignName, Html, html, plainName, sentence } from './pages/html.ts';
export { readSharedStyles } from './pages/shared-styles.ts';
export { createReload } from './process/reload.ts';
export { deferListener, retryStart } from './process/retry-start.ts';
export { runApp, type ServedApp } from './process/run-app.ts';
export { runProcess } from './process/run-process.ts';
export {
  type AddressMatcher,
  addressGroup,
  createAddressMatcher,
  expressAddress,
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
  createRequestRecorder,
  type RequestObserver,
} from './requests/request-records.ts';
export {
  allowedMethods,
  createRouter,
  pathParameters,
  pathShape,
  type Router,
  type RouterMatch,
} from './requests/router.ts';
export { parseStrictJson, readStrictJson, StrictJsonError } from './requests/strict-json.ts';
export { atEndOfTurn } from './server/connections.ts';
export { explainPortInUse } from './server/listen.ts';
export {
  assertClearMessage,
  hasBody,
  lingerBeforeClose,
  messageProblem,
  rejectedMessage,
  sendContinue,
} from './server/message-framing.ts';
export { createOperations } from './server/operations.ts';
export { type RunningServer, serve, type UpgradeListener } from './server/serve.ts';
export { createIncrements } from './telemetry/increments.ts';
export { createLogger, type Logger } from './telemetry/logger.ts';
export { metricsText } from './telemetry/metric-families.ts';
export { createMetricsRegistry, type MetricsRegistry } from './telemetry/metrics-registry.ts';
export { addProcessMetrics, collectMasterKey, readVersion } from './telemetry/process-metrics.ts';
export { storeSignals } from './telemetry/store-signals.ts';
export { openTracer, type Tracer, traced } from './telemetry/tracer.ts';
