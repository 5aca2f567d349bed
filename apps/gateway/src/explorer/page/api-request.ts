/** A request as the form describes it, without its credential. */
export interface ApiRequest {
  readonly method: string;
  /** Percent-encoded, without a path of the public URL of the gateway. */
  readonly path: string;
  /** Percent-encoded, without `?`. Empty if absent. */
  readonly query: string;
  /** Empty if there is no body. */
  readonly contentType: string;
  /** Undefined if the request has none. */
  readonly body: string | undefined;
}

export interface ReceivedReply {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly text: string;
}

/** Sends nothing but what the page shows: no cookie, and no second request after a redirect. */
export async function sendRequest(
  { method, path, query, contentType, body }: ApiRequest,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ReceivedReply> {
  // A proxy may remove the first part of the address, so the path is relative to this page.
  const response = await fetch(`.${path}${query === '' ? '' : `?${query}`}`, {
    signal,
    method,
    headers: { ...(contentType !== '' && { 'Content-Type': contentType }), ...headers },
    ...(body !== undefined && { body }),
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const { status, statusText } = response;
  const text = new TextDecoder().decode(bytes);
  return { status, statusText, headers: response.headers, bytes, text };
}
