/** The body of a reply of the platform API. */
export interface Envelope {
  readonly code: string;
  readonly message: string;
  readonly result: unknown;
}

/** Undefined if the text is not an envelope with the status of the reply. */
export function parseEnvelope(status: number, text: string): Envelope | undefined {
  const value = parseJson(text);
  return isRecord(value) &&
    value.status === status &&
    typeof value.code === 'string' &&
    typeof value.message === 'string' &&
    typeof value.timestamp === 'number'
    ? { code: value.code, message: value.message, result: value.result }
    : undefined;
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
