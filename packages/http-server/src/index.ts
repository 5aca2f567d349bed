export { addressGroup } from './address-group.ts';
export { type AddressMatcher, createAddressMatcher, unmappedAddress } from './address-matcher.ts';
export { sendContinue } from './continue.ts';
export { type DeferredListener, deferListener } from './deferred-listener.ts';
export { debuggerProblem } from './deny-debugging.ts';
export { createLogger, type Logger, type LoggerOptions } from './logger.ts';
export type { Histogram } from './metrics/histogram.ts';
export type { LabelledCells } from './metrics/labelled-cells.ts';
export {
  type Counter,
  createMetricsRegistry,
  type MetricsRegistry,
  type Sample,
} from './metrics/metrics-registry.ts';
export { addProcessMetrics } from './metrics/process-metrics.ts';
export { createRequestMetrics, type RequestObserver } from './metrics/request-metrics.ts';
export {
  type ObservedRequest,
  observedRequest,
  observeRequests,
  type RequestDependent,
  type RequestNotes,
} from './observed-request.ts';
export {
  type OperationsOptions,
  type OperationsServer,
  type ReadinessCheck,
  serveOperations,
} from './operations-server.ts';
export {
  exitOnUnhandledErrors,
  type RunningApp,
  type RunOptions,
  runProcess,
} from './run-process.ts';
export { type ListenOptions, type RunningServer, serve, type UpgradeListener } from './serve.ts';
export { serverLimits } from './server-limits.ts';
export { type StoreSignals, storeSignals } from './store-signals.ts';
export { transferEncodingProblem } from './transfer-encoding.ts';
