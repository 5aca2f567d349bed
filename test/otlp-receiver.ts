import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '@gatehouse/testing';

export interface ReceivedSpan {
  readonly service: string;
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly failed: boolean;
}

export type OtlpReceiver = Awaited<ReturnType<typeof startOtlpReceiver>>;

interface KeyValue {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number };
}

/** Receives traces as OTLP over HTTP, in JSON. */
export async function startOtlpReceiver() {
  const bodies: string[] = [];
  const spans: ReceivedSpan[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      bodies.push(JSON.stringify(request.headers), body);
      spans.push(...readSpans(JSON.parse(body)));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    spans,
    /** Everything that was sent, as text. */
    raw: () => bodies.join('\n'),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: the protocol buffer of OTLP as JSON
type Any = any;

function readSpans({ resourceSpans }: Any): readonly ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }: Any) => {
    const service = String(attributesOf(resource.attributes)['service.name']);
    return scopeSpans.flatMap((scope: Any) =>
      scope.spans.map((span: Any) => ({
        ...span,
        service,
        attributes: attributesOf(span.attributes),
        failed: span.status?.code === 2,
      })),
    );
  });
}

function attributesOf(list: readonly KeyValue[] = []): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    list.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? value]),
  );
}
