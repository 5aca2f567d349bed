import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { listen } from '@gatehouse/testing';

export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** A real upstream that records the requests it gets. */
export interface RecordingUpstream {
  readonly url: string;
  /** Oldest first. A request is listed when its body is complete. */
  readonly requests: RecordedRequest[];
  last(): RecordedRequest;
  /** Sets the handler of requests. Undefined restores `{"status":200,"result":[]}`. */
  answerWith(listener: RequestListener | undefined): void;
  close(): Promise<void>;
}

export const defaultAnswer = '{"status":200,"result":[]}';

export async function startRecordingUpstream(): Promise<RecordingUpstream> {
  const requests: RecordedRequest[] = [];
  let custom: RequestListener | undefined;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers, rawHeaders } = request;
      requests.push({ method, url, headers, rawHeaders, body: Buffer.concat(chunks) });
    });
    if (custom !== undefined) {
      custom(request, response);
      return;
    }
    request.on('end', () => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(defaultAnswer);
    });
  });
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    requests,
    last() {
      const request = requests.at(-1);
      if (request === undefined) {
        throw new Error('The upstream saw no request.');
      }
      return request;
    },
    answerWith(listener) {
      custom = listener;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
