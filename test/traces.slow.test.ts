/** Spans of requests, as an OTLP receiver gets them from the running apps. */
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  authorizeAsUser,
  basic,
  type Constellation,
  integrationEngines,
  oneClient,
  startConstellation,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from './otlp-receiver.ts';

const secureKey = 'tracesKey0123456789abcdef';
const alice = { username: 'alice', password: 'correct horse battery' };
const redirectUri = 'https://app.example/callback';
const bootstrap = {
  ...oneClient(secureKey, {
    grantTypes: ['authorization_code', 'client_credentials', 'refresh_token'],
    redirectUris: [redirectUri],
    scopes: ['device:read', 'device:write'],
  }),
  users: [{ ...alice, name: 'Alice', orgId: 'org-1' }],
};

/** OpenTelemetry names the kinds INTERNAL, SERVER and CLIENT. */
const kinds = { internal: 1, server: 2, client: 3 } as const;

function newTraceparent(flags = '01') {
  const traceId = randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  return { traceId, spanId, header: `00-${traceId}-${spanId}-${flags}` };
}

async function requestToken(system: Constellation, headers: Record<string, string> = {}) {
  const reply = await fetch(`${system.authorizationServerUrl}/token`, {
    method: 'POST',
    headers: { authorization: basic('one', secureKey), ...headers },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  return String(((await reply.json()) as { access_token?: unknown }).access_token);
}

/** Stops the apps, so that they export the remaining spans. */
function stopApps(system: Constellation) {
  return Promise.all(system.processes.map((app) => app.stop()));
}

describe.each(integrationEngines)('traces on %s', (engine) => {
  let receiver: OtlpReceiver;
  let system: Constellation;
  const secrets: string[] = [secureKey, alice.password];
  const traces = {
    device: newTraceparent(),
    signed: newTraceparent(),
    token: newTraceparent(),
    code: newTraceparent(),
    refused: newTraceparent(),
  };
  const statuses: Record<string, number> = {};

  beforeAll(async () => {
    receiver = await startOtlpReceiver();
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
    system = await startConstellation({ engine, bootstrap, environment });
    await sendRequests();
    await stopApps(system);
  });
  afterAll(async () => {
    receiver.close();
    await system.stop();
  });

  async function call(name: string, path: string, headers: Record<string, string>) {
    const reply = await fetch(`${system.gatewayUrl}${path}`, { headers });
    statuses[name] = reply.status;
    await reply.text();
  }

  async function sendRequests() {
    const token = await requestToken(system, { traceparent: traces.token.header });
    const authorization = `Bearer ${token}`;
    await call('device', '/api/device?pageSize=3', {
      authorization,
      traceparent: traces.device.header,
    });
    await call('query', `/api/device?access_token=${token}`, {});
    const timestamp = String(Date.now());
    const signature = createHash('sha256')
      .update(`pageSize=4${timestamp}${secureKey}`)
      .digest('hex');
    await call('signed', '/api/device?pageSize=4', {
      'x-client-id': 'one',
      'x-timestamp': timestamp,
      'x-sign': signature,
      traceparent: traces.signed.header,
    });
    await call('refused', '/api/device', {
      authorization: 'Bearer wrong-token-0123456789',
      traceparent: traces.refused.header,
    });
    for (const traceparent of ['garbage', '00-0-0-01', `ff${traces.device.header.slice(2)}`]) {
      await call('invalid', '/api/device', {
        authorization,
        traceparent,
        tracestate: 'x=secret-state',
      });
    }
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: 'one',
      redirect_uri: redirectUri,
      state: 'secret-state',
    });
    const landing = await authorizeAsUser(
      `${system.authorizationServerUrl}/authorize?${query}`,
      alice,
    );
    const code = landing.searchParams.get('code') ?? '';
    const redeemed = await fetch(`${system.authorizationServerUrl}/token`, {
      method: 'POST',
      headers: { authorization: basic('one', secureKey), traceparent: traces.code.header },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        redirect_uri: redirectUri,
      }),
    });
    const tokens = (await redeemed.json()) as Record<string, string>;
    secrets.push(token, signature, code, 'wrong-token-0123456789', 'secret-state');
    secrets.push(String(tokens.access_token), String(tokens.refresh_token));
    secrets.push(basic('one', secureKey).slice('Basic '.length), 'pageSize');
  }

  const spansOf = ({ traceId }: { readonly traceId: string }) =>
    receiver.spans.filter((span) => span.traceId === traceId);
  const find = (spans: readonly ReceivedSpan[], service: string, name: string) => {
    const found = spans.find((span) => span.service === service && span.name === name);
    expect([service, name, found]).toEqual([service, name, expect.anything()]);
    return found as ReceivedSpan;
  };

  test('one trace has the spans of gateway, store, device service and database', () => {
    const spans = spansOf(traces.device);
    const request = find(spans, 'gatehouse-gateway', 'GET device.list');
    expect(request).toMatchObject({
      kind: kinds.server,
      parentSpanId: traces.device.spanId,
      failed: false,
      attributes: {
        'http.request.method': 'GET',
        'http.response.status_code': 200,
        'gatehouse.client_id': 'one',
        'gatehouse.credential': 'bearer',
      },
    });
    const authenticate = find(spans, 'gatehouse-gateway', 'authenticate');
    const forward = find(spans, 'gatehouse-gateway', 'forward');
    expect(authenticate).toMatchObject({ parentSpanId: request.spanId, kind: kinds.internal });
    expect(forward).toMatchObject({ parentSpanId: request.spanId, kind: kinds.client });
    expect(find(spans, 'gatehouse-gateway', 'store get').parentSpanId).toBe(authenticate.spanId);
    const service = find(spans, 'gatehouse-device-service', 'GET device.list');
    expect(service).toMatchObject({ parentSpanId: forward.spanId, kind: kinds.server });
    const statement = find(spans, 'gatehouse-device-service', 'database select');
    expect(statement).toMatchObject({ parentSpanId: service.spanId, kind: kinds.client });
  });

  test('a signed request has a span for its claim and for the signature of the reply', () => {
    const spans = spansOf(traces.signed);
    const authenticate = find(spans, 'gatehouse-gateway', 'authenticate');
    expect(find(spans, 'gatehouse-gateway', 'store claim').parentSpanId).toBe(authenticate.spanId);
    find(spans, 'gatehouse-gateway', 'sign');
  });

  test('a token request has spans for the provider and the store', () => {
    const spans = spansOf(traces.code);
    const request = find(spans, 'gatehouse-authorization-server', 'POST token');
    expect(request.parentSpanId).toBe(traces.code.spanId);
    const provider = find(spans, 'gatehouse-authorization-server', 'oidc-provider');
    expect(provider.parentSpanId).toBe(request.spanId);
    expect(find(spans, 'gatehouse-authorization-server', 'store claim').parentSpanId).toBe(
      provider.spanId,
    );
    // The provider does not take part in requests of machines.
    const machine = spansOf(traces.token);
    const issue = find(machine, 'gatehouse-authorization-server', 'POST token');
    expect(find(machine, 'gatehouse-authorization-server', 'store set').parentSpanId).toBe(
      issue.spanId,
    );
  });

  test('a rejected request has its code and reason', () => {
    const [request] = spansOf(traces.refused).filter(({ kind }) => kind === kinds.server);
    expect(request?.attributes).toMatchObject({
      'http.response.status_code': 401,
      'error.type': 'unauthorized',
      'gatehouse.reason': expect.any(String),
    });
  });

  test('nothing that is exported contains a secret', () => {
    const exported = receiver.raw();
    expect(receiver.spans.length).toBeGreaterThan(50);
    for (const secret of secrets) {
      expect(secret.length).toBeGreaterThan(5);
      expect(exported).not.toContain(secret);
    }
  });
});

describe('which requests have spans', () => {
  /** Sends requests through a gateway to a service that records their headers. */
  async function send(
    environment: Record<string, string>,
    contexts: readonly (string | undefined)[],
  ) {
    const receiver = await startOtlpReceiver();
    const received: IncomingHttpHeaders[] = [];
    const service = createServer((request, response) => {
      received.push(request.headers);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    const system = await startConstellation({
      engine: 'sqlite',
      bootstrap,
      apps: ['authorization-server', 'gateway'],
      environment: {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        DEVICE_SERVICE_URL: `http://127.0.0.1:${(service.address() as AddressInfo).port}`,
        ...environment,
      },
    });
    try {
      const authorization = `Bearer ${await requestToken(system)}`;
      for (const traceparent of contexts) {
        const headers = { authorization, ...(traceparent === undefined ? {} : { traceparent }) };
        await (await fetch(`${system.gatewayUrl}/api/device`, { headers })).text();
      }
      await stopApps(system);
      const spans = receiver.spans.filter(({ name }) => name === 'GET device.list');
      return { spans, received: received.map((headers) => headers.traceparent) };
    } finally {
      service.close();
      receiver.close();
      await system.stop();
    }
  }

  const off = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' };

  test('a caller cannot force spans with traceidratio, and services do not record either', async () => {
    const [sampled, unsampled] = [newTraceparent('01'), newTraceparent('00')];
    const { spans, received } = await send(off, [sampled.header, unsampled.header, undefined]);
    expect(spans).toEqual([]);
    const unset = `00-${sampled.traceId}-${sampled.spanId}-00`;
    expect(received).toEqual([unset, unsampled.header, undefined]);
  });
});

describe('a receiver that fails', () => {
  test.each([
    ['refuses connections', undefined],
    ['never answers', () => undefined],
    ['answers 500 with a secret', 500],
  ] as const)('and %s fails no request and delays no shutdown', async (_name, answer) => {
    const server = createServer((_request, response) => {
      if (typeof answer === 'number') {
        response.writeHead(answer).end('secret-of-the-receiver');
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    if (answer === undefined) {
      await new Promise((resolve) => server.close(resolve));
    }
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_TIMEOUT: '500' };
    const system = await startConstellation({ engine: 'sqlite', bootstrap, environment });
    try {
      const headers = { authorization: `Bearer ${await requestToken(system)}` };
      expect((await fetch(`${system.gatewayUrl}/api/device`, { headers })).status).toBe(200);
      const begun = performance.now();
      expect(await stopApps(system)).toEqual([0, 0, 0]);
      expect(performance.now() - begun).toBeLessThan(9000);
      const output = await system.outputWith('traces not exported');
      expect(output).not.toContain('secret-of-the-receiver');
    } finally {
      await system.stop();
      server.closeAllConnections();
      server.close();
    }
  });
});

test('without an endpoint, no app loads OpenTelemetry', async () => {
  const report = `import { registerHooks } from 'node:module';
    registerHooks({ load(url, context, next) {
      if (url.includes('@opentelemetry')) process.stdout.write('loaded OpenTelemetry\\n');
      return next(url, context);
    } });`;
  const options = `--import data:text/javascript,${encodeURIComponent(report)}`;
  const run = async (environment: Record<string, string>) => {
    const system = await startConstellation({
      engine: 'sqlite',
      bootstrap,
      environment: { NODE_OPTIONS: options, ...environment },
    });
    const output = await system.output();
    await system.stop();
    return output;
  };
  const unused = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  expect(await run(unused)).toContain('loaded OpenTelemetry');
  expect(await run({})).not.toContain('loaded OpenTelemetry');
});
