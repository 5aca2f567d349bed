/** Spans of requests, as an OTLP receiver gets them from the running apps. */

import { randomBytes } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import {
  authorizeAsUser,
  basic,
  type Constellation,
  integrationEngines,
  listen,
  machineToken,
  oneClient,
  postAs,
  signatureHeaders,
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

async function serve(listener: RequestListener) {
  const server = createServer(listener);
  return { server, url: `http://127.0.0.1:${await listen(server)}` };
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

  async function call(path: string, traceparent: string, headers: Record<string, string>) {
    const sent = { traceparent, tracestate: 'x=secret-state', ...headers };
    await (await fetch(`${system.gatewayUrl}${path}`, { headers: sent })).text();
  }

  async function redeem(form: Record<string, string>, traceparent: string) {
    const url = `${system.authorizationServerUrl}/token`;
    const reply = await postAs(url, { clientId: 'one', secureKey }, form, { traceparent });
    return (await reply.json()) as Record<string, string>;
  }

  async function sendRequests() {
    const issued = await redeem({ grant_type: 'client_credentials' }, traces.token.header);
    const token = String(issued.access_token);
    const authorization = `Bearer ${token}`;
    await call('/api/device?pageSize=3', traces.device.header, { authorization });
    await call(`/api/device?access_token=${token}`, newTraceparent().header, {});
    const signed = signatureHeaders({ clientId: 'one', secureKey }, 'pageSize=4');
    await call('/api/device?pageSize=4', traces.signed.header, signed);
    const wrong = 'wrong-token-0123456789';
    await call('/api/device', traces.refused.header, { authorization: `Bearer ${wrong}` });
    for (const invalid of ['garbage', '00-0-0-01', `ff${traces.device.header.slice(2)}`]) {
      await call('/api/device', invalid, { authorization });
    }
    const query = `response_type=code&client_id=one&redirect_uri=${redirectUri}&state=secret-state`;
    const url = `${system.authorizationServerUrl}/authorize?${query}`;
    const code = (await authorizeAsUser(url, alice)).searchParams.get('code') ?? '';
    const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
    const tokens = await redeem(grant, traces.code.header);
    secrets.push(token, signed['X-Sign'], code, wrong, 'secret-state');
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
  test('a caller cannot force spans with traceidratio, and services do not record either', async () => {
    const [sampled, unsampled] = [newTraceparent('01'), newTraceparent('00')];
    const receiver = await startOtlpReceiver();
    const received: unknown[] = [];
    const service = await serve((request, response) => {
      received.push(request.headers.traceparent);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    const system = await startConstellation({
      engine: 'sqlite',
      bootstrap,
      apps: ['authorization-server', 'gateway'],
      environment: {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        DEVICE_SERVICE_URL: service.url,
        OTEL_TRACES_SAMPLER: 'traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0',
      },
    });
    try {
      const authorization = `Bearer ${await machineToken(system, secureKey)}`;
      for (const traceparent of [sampled.header, unsampled.header, undefined]) {
        const headers = { authorization, ...(traceparent === undefined ? {} : { traceparent }) };
        await (await fetch(`${system.gatewayUrl}/api/device`, { headers })).text();
      }
      await stopApps(system);
      expect(receiver.spans.filter(({ name }) => name === 'GET device.list')).toEqual([]);
      expect(received).toEqual([`${sampled.header.slice(0, -1)}0`, unsampled.header, undefined]);
    } finally {
      service.server.close();
      receiver.close();
      await system.stop();
    }
  });
});

describe('a receiver that fails', () => {
  test.each([
    ['refuses connections', undefined],
    ['never answers', null],
    ['answers 500 with a secret', 500],
  ] as const)('and %s fails no request and delays no shutdown', async (_name, answer) => {
    const { server, url } = await serve((_request, response) => {
      if (answer === 500) {
        response.writeHead(500).end('secret-of-the-receiver');
      }
    });
    if (answer === undefined) {
      await new Promise((resolve) => server.close(resolve));
    }
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_TIMEOUT: '500' };
    const system = await startConstellation({ engine: 'sqlite', bootstrap, environment });
    try {
      const headers = { authorization: `Bearer ${await machineToken(system, secureKey)}` };
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
