import { type Envelope, isRecord, parseEnvelope } from '@gatehouse/signing/core';
import { GatehouseError } from './gatehouse-error.ts';

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
