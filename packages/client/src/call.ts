import { GatehouseError } from './gatehouse-error.ts';

/** The drop-in `fetch` of this package. A path is resolved against the gateway. */
export type GatehouseFetch = (
  input: string | URL | Request,
  init?: RequestInit,
) => Promise<Response>;

export interface CallOptions {
  /**
   * The address of the gateway. Requests to any other origin or path are rejected. A proxy must
   * remove the path, because the gateway verifies the request without it.
   */
  readonly gateway: string | URL;
  /** The `fetch` that sends the requests. Default: the global one. */
  readonly fetch?: typeof fetch;
  /** How long a call may take, with all its retries, until its reply begins. Default: 30 000. */
  readonly deadlineMilliseconds?: number;
}

/** @internal One request of the caller, which may be sent several times. */
export type Call = ReturnType<typeof toCall>;

/** @internal Redirects are not followed, so that no credential reaches another origin (RFC 6750 §5.2). */
export function readCall(
  gateway: URL,
  input: string | URL | Request,
  init: RequestInit = {},
): Call | Promise<Call> {
  return input instanceof Request
    ? readRequest(gateway, new Request(input, init))
    : toCall(gateway, input, init);
}

async function readRequest(gateway: URL, request: Request): Promise<Call> {
  const { url, method, headers, signal, body } = request;
  const bytes = body === null ? null : await new Response(body).arrayBuffer();
  return toCall(gateway, url, { method, headers, signal, body: bytes });
}

function toCall(gateway: URL, input: string | URL, init: RequestInit) {
  const prefix = gateway.pathname.replace(/\/$/, '');
  const isPath = typeof input === 'string' && input.startsWith('/') && !input.startsWith('//');
  const url = new URL(isPath ? prefix + input : input, gateway);
  if (url.origin !== gateway.origin || !url.pathname.startsWith(`${prefix}/`)) {
    throw new GatehouseError(
      'wrong_origin',
      `The client sends its credential only to ${gateway.origin}${prefix}.`,
    );
  }
  const method = (init.method ?? 'GET').toUpperCase();
  return {
    url,
    /** The path that the gateway receives, without that of its address. */
    path: url.pathname.slice(prefix.length),
    method,
    headers: new Headers(init.headers),
    body: init.body ?? undefined,
    /** Everything else that the caller passed. */
    init,
    /** Sending the call twice has no other effect than sending it once. */
    isSafe: method === 'GET' || method === 'HEAD',
  };
}

/** @internal Names the option that is wrong, for example because a variable is not set. */
export function assertOption<Name extends string>(
  options: Readonly<Record<Name, unknown>>,
  name: Name,
  form = /./,
): void {
  const value = options[name];
  if (!form.test(String(value ?? ''))) {
    throw new GatehouseError('invalid_options', `The option ${name} is missing or not valid.`, {
      hint: `The given options are ${Object.keys(options)}.`,
    });
  }
}

/** @internal */
export function readAddress<Name extends string>(
  options: Readonly<Record<Name, string | URL>>,
  name: Name,
): URL {
  assertOption(options, name, /^https?:/);
  return new URL(options[name]);
}
