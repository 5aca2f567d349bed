export { sendContinue } from './continue.ts';
export { type DeferredListener, deferListener } from './deferred-listener.ts';
export { createLogger, type Logger, type LoggerOptions } from './logger.ts';
export {
  type ObservedRequest,
  observedRequest,
  observeRequests,
  type RequestNotes,
} from './observed-request.ts';
export {
  type OperationsOptions,
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
