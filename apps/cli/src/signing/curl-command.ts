export interface CurlRequest {
  readonly method: string;
  /** With scheme and host. Undefined: the command uses the variable GATEWAY_URL. */
  readonly origin: string | undefined;
  /** Path and query. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The path of a file, or `-`. Undefined: the request has no body. */
  readonly bodyFile: string | undefined;
}

/** The request as a command for a POSIX shell. curl sends exactly the bytes that were signed. */
export function curlCommand({ method, origin, target, headers, bodyFile }: CurlRequest): string {
  const url = origin === undefined ? `"$GATEWAY_URL"${quote(target)}` : quote(origin + target);
  const isGlob = /[[\]{}]/.test(target);
  const words = [
    `curl --include ${isGlob ? '-g ' : ''}${methodOption(method, bodyFile)}${url}`,
    ...headers.map(([name, value]) => `--header ${quote(`${name}:${value && ` ${value}`}`)}`),
    ...(bodyFile === undefined ? [] : [`--data-binary ${quote(`@${bodyFile}`)}`]),
  ];
  return words.join(' \\\n  ');
}

function methodOption(method: string, bodyFile: string | undefined): string {
  if (method === 'HEAD') {
    return '--head ';
  }
  return method === 'GET' && bodyFile === undefined ? '' : `--request ${method} `;
}

/** A shell reads everything between single quotes as it is. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
