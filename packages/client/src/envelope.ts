import { GatehouseError } from './gatehouse-error.ts';

/** @internal The body of a reply of the platform API. */
export interface Envelope {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly timestamp: number;
  readonly result?: unknown;
  /** Only the reply with an X-Access-Token has it. */
  readonly expires?: number;
}

/** @internal Undefined if the body is not an envelope with the status of the reply. */
export function parseEnvelope(status: number, body: string): Envelope | undefined {
  const value = parseJson(body);
  return isRecord(value) &&
    value.status === status &&
    typeof value.code === 'string' &&
    typeof value.message === 'string' &&
    typeof value.timestamp === 'number'
    ? (value as unknown as Envelope)
    : undefined;
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

export function requestIdOf(response: Response): string | undefined {
  return response.headers.get('x-request-id') ?? undefined;
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
