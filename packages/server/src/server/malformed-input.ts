import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type FailureReasonName, failureReasons } from '@gatehouse/errors';
import { observationOf } from '../requests/observed-request.ts';
import type { RequestRecorder } from '../requests/request-recorder.ts';
import type { Logger } from '../telemetry/logger.ts';
import { createRequestLineWriter, type RequestLine } from '../telemetry/request-line.ts';
import type { ClientErrorCode } from './client-error.ts';

/** Input that never became a request for the application, and its reply. */
export interface MalformedInput {
  readonly requestId: string;
  readonly status: number;
  readonly code: ClientErrorCode;
  readonly reason: FailureReasonName;
  readonly socket: Socket;
  /** The request that the input belongs to, if its headers arrived. */
  readonly request: IncomingMessage | undefined;
}

/** Counts, logs and records malformed input as failed requests. */
export function createMalformedInputReporter(dependencies: {
  readonly count: ((code: ClientErrorCode) => void) | undefined;
  readonly logger: Logger | undefined;
  readonly record: RequestRecorder['recordMalformed'] | undefined;
}): (input: MalformedInput) => void {
  const { count, logger, record } = dependencies;
  const writeLine = logger && createRequestLineWriter(logger);
  return ({ requestId, status, code, reason, socket, request }) => {
    count?.(code);
    const observation = request && observationOf(request);
    if (observation !== undefined) {
      // The request has its own log line, which needs only the reason.
      observation.notes.code = code;
      observation.notes.reason = reason;
      return;
    }
    const line: RequestLine = {
      requestId,
      method: request?.method,
      status,
      aborted: false,
      durationMs: 0,
      upstreamMs: undefined,
      operation: undefined,
      clientId: undefined,
      credential: undefined,
      code,
      reason,
      stage: failureReasons[reason].stage,
    };
    writeLine?.(line);
    record?.(line, socket.remoteAddress ?? '');
  };
}
