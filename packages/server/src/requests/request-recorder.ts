import type { IncomingMessage } from 'node:http';
import type { RequestLine } from '../telemetry/request-line.ts';
import { addressGroup, unmappedAddress } from './addresses.ts';
import { observedRequest } from './observed-request.ts';

/** A request for the request log. */
export interface RecordedRequest extends Omit<RequestLine, 'operation' | 'stage'> {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly app: string;
  readonly operation: string;
  /** Whether the client proved its identity. */
  readonly verified: boolean;
  readonly keyId: string | undefined;
  readonly verifiedMs: number | undefined;
  readonly addressGroup: string;
  readonly userAgent: string | undefined;
}

export type RequestRecorder = ReturnType<typeof createRequestRecorder>;

/** One of so many successful requests is recorded. */
const SAMPLED_ONE_IN = 100;
const USER_AGENT_CHARACTERS = 100;
const FINDING_CHARACTERS = 80;

/**
 * Records failed requests and a random sample of the others. For every other request, it costs a
 * comparison and a count.
 */
export function createRequestRecorder(dependencies: {
  readonly app: string;
  readonly addressGroupOf: (request: IncomingMessage) => string;
  readonly record: (request: RecordedRequest) => void;
}) {
  const { app, addressGroupOf, record } = dependencies;
  let untilSample = randomInterval();
  return {
    observe(line: RequestLine, request: IncomingMessage): void {
      if (line.reason === undefined) {
        untilSample -= 1;
        if (untilSample > 0) {
          return;
        }
        untilSample = randomInterval();
      }
      const { receivedAt, notes } = observedRequest(request);
      const { clientId } = line;
      record({
        ...recordedLine(app, line),
        at: receivedAt,
        verified:
          clientId !== undefined && (notes.verified === true || notes.verifiedMs !== undefined),
        keyId: notes.keyId,
        verifiedMs: notes.verifiedMs && Math.round(notes.verifiedMs * 10) / 10,
        addressGroup: addressGroupOf(request),
        userAgent: printableUserAgent(request.headers['user-agent']),
      });
    },
    /** Records input that is not a request. Only the address of the peer is known. */
    recordMalformed(line: RequestLine, peerAddress: string): void {
      record({
        ...recordedLine(app, line),
        at: Date.now(),
        verified: false,
        keyId: undefined,
        verifiedMs: undefined,
        addressGroup: addressGroup(unmappedAddress(peerAddress)),
        userAgent: undefined,
      });
    },
  };
}

function recordedLine(app: string, { stage: _, ...line }: RequestLine) {
  const finding = line.finding?.slice(0, FINDING_CHARACTERS);
  return { ...line, app, operation: line.operation ?? 'unmatched', finding };
}

/** A fixed interval would always miss the same requests of a caller that alternates. */
function randomInterval(): number {
  return Math.ceil(Math.random() * 2 * SAMPLED_ONE_IN);
}

/**
 * Keeps printable ASCII only: anything else could control the terminal of an operator. Characters
 * that JSON escapes would double the size of the entry.
 */
function printableUserAgent(text: string | undefined): string | undefined {
  return text?.slice(0, USER_AGENT_CHARACTERS).replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '');
}
