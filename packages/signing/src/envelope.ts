/** The body of a reply of the platform API. */
export interface Envelope {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly timestamp: number;
  readonly result?: unknown;
  /** Only the reply with an X-Access-Token has it. */
  readonly expires?: number;
}

/** Undefined if the body is not an envelope with the status of the reply. */
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
