import { writeFileSync } from 'node:fs';

export interface BenchRequest {
  readonly method: 'GET' | 'POST';
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The request as it is sent. */
export function requestText({ method, path, headers, body }: BenchRequest): string {
  const lines = Object.entries({ Host: '127.0.0.1', ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  if (body !== undefined) {
    lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`);
  }
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body ?? ''}`;
}

/** Writes requests for requests.lua, which sends them in turn. */
export function writeRequests(file: string, requests: readonly BenchRequest[]): string {
  writeFileSync(file, requests.map((each) => `${requestText(each)}\0`).join(''), { mode: 0o600 });
  return file;
}
