import { type Envelope, isRecord, parseEnvelope } from '@gatehouse/signing/core';

/** The failures that the client itself detects. */
export type ClientErrorCode =
  | 'deadline_exceeded'
  | 'digest_unavailable'
  | 'invalid_options'
  | 'invalid_token_reply'
  | 'network_error'
  | 'unverified_reply'
  | 'wrong_origin';

/** Every failure of this package. Compare `code`, never the message. */
export class GatehouseError extends Error {
  /** A code of `docs/errors.md`, an OAuth error of the token endpoint, or a `ClientErrorCode`. */
  readonly code: ClientErrorCode | (string & {});
  /** The HTTP status, if a reply arrived. */
  readonly status: number | undefined;
  /** Quote it when you ask the operator for help. */
  readonly requestId: string | undefined;
  /** How to fix the request. */
  readonly hint: string | undefined;
  /** The other members of the problem details of the management API, such as `errors`. */
  readonly problem: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: string,
    message: string,
    details: Partial<
      Pick<GatehouseError, 'status' | 'requestId' | 'hint' | 'problem' | 'cause'>
    > = {},
  ) {
    super(message, { cause: details.cause });
    this.name = 'GatehouseError';
    this.code = code;
    this.status = details.status;
    this.requestId = details.requestId;
    this.hint = details.hint;
    this.problem = details.problem;
  }
}

/** The `result` of a successful reply. Throws GatehouseError with the code of any other reply. */
export async function readResult<Result = unknown>(response: Response): Promise<Result> {
  const body = await response.text();
  const envelope = parseEnvelope(response.status, body);
  if (response.ok && envelope?.code === 'success') {
    return envelope.result as Result;
  }
  throw failureOf(response, envelope);
}

/** @internal */
export function failureOf(response: Response, envelope: Envelope | undefined): GatehouseError {
  const { status } = response;
  const hint = isRecord(envelope?.result) ? envelope.result.hint : undefined;
  return new GatehouseError(
    envelope?.code ?? 'unexpected_reply',
    envelope?.message ?? `The reply with the status ${status} is not an envelope.`,
    {
      status,
      requestId: requestIdOf(response),
      hint: typeof hint === 'string' ? hint : undefined,
    },
  );
}

/** @internal */
export function requestIdOf(response: Response): string | undefined {
  return response.headers.get('x-request-id') ?? undefined;
}
