import type { BodyStream } from './http1/outgoing-request.ts';

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Name, value, name, value, … */
  readonly headers: readonly string[];
  readonly body: Uint8Array | BodyStream | undefined;
  readonly timeoutMilliseconds: number;
  /** The deadline ends with the head. The body may last as long as data keeps arriving. */
  readonly streaming: boolean;
}

/** Whether the gateway sends the body while it arrives. */
export function isStream(body: UpstreamRequest['body']): body is BodyStream {
  return body !== undefined && !(body instanceof Uint8Array);
}
