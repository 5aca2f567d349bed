/** New requests as server-sent events, the export, and what the screens show of stored text. */
import { spawnSync } from 'node:child_process';
import type { RequestEntry } from '@gatehouse/identity';
import { until } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { startConsole } from './in-process-console.ts';
import { browsing, hostile } from './installation.ts';

const gatehouse = await startConsole();
const { url, identity, setAhead } = gatehouse;
const { visitor } = await gatehouse.signIn();
const { open } = browsing(visitor, url);
const cookie = () => `console-session=${visitor.cookies.get('console-session|/')}`;

const entry = (requestId: string, more: Partial<RequestEntry> = {}): RequestEntry => ({
  ...{ at: Date.now(), requestId, app: 'gateway', method: 'GET', operation: 'device.list' },
  ...{
    clientId: 'fleet',
    verified: true,
    aborted: false,
    durationMs: 5,
    addressGroup: '192.0.2.1',
  },
  ...{ status: 401, reason: 'token_expired', code: 'unauthorized', ...more },
});

async function record(...entries: readonly RequestEntry[]) {
  entries.forEach(identity.requestLog.record);
  await identity.requestLog.flush();
}

function follow(query = '') {
  const stopping = new AbortController();
  const reply = fetch(`${url}/requests/events${query}`, {
    headers: { cookie: cookie(), 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'same-origin' },
    signal: stopping.signal,
  });
  return { reply, stop: () => stopping.abort() };
}

test('a group of failures links each of its reasons', async () => {
  const grouped = { clientId: 'grouped', code: 'unauthorized' };
  await record(entry('group-0001', { ...grouped, reason: 'token_revoked' }));
  await record(entry('group-0002', { ...grouped, reason: 'token_expired' }));
  const { body } = await open('/requests?clientId=grouped');
  for (const reason of ['token_revoked', 'token_expired']) {
    expect(body).toMatch(new RegExp(`href="/requests\\?[^"]*reason=${reason}`));
  }
});

test('a stream reports a new request of the filter, and not another one', async () => {
  const { reply, stop } = follow('?clientId=fleet');
  const { status, headers, body } = await reply;
  expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  let received = '';
  const reading = (async () => {
    for await (const chunk of body ?? []) {
      received += Buffer.from(chunk).toString();
    }
  })().catch(() => undefined);
  await record(entry('other-0001', { clientId: 'odd' }));
  await until(() => received.includes('\n\n:\n\n'));
  expect(received).not.toContain('data:');
  await record(entry('fleet-0001'));
  await until(() => received.includes('data: new\n\n'));
  stop();
  await reading;
});

test('the streams of a session are limited, and need a session', async () => {
  const streams = Array.from({ length: 3 }, () => follow());
  const statuses = await Promise.all(streams.map(async ({ reply }) => (await reply).status));
  const fourth = await follow().reply;
  expect([...statuses, fourth.status]).toEqual([200, 200, 200, 429]);
  for (const { stop } of streams) {
    stop();
  }
  await until(async () => {
    const again = follow();
    const { status } = await again.reply;
    again.stop();
    return status === 200;
  });
  const headers = { 'sec-fetch-dest': 'empty' };
  const anonymous = await fetch(`${url}/requests/events`, { headers });
  expect(anonymous.status).toBe(401);
  const wrong = await fetch(`${url}/requests/export?since=yesterday`, {
    headers: { cookie: cookie(), ...headers },
  });
  expect(wrong.status).toBe(400);
});

test('a pasted id leads to its request, and a filter in the URL to its requests', async () => {
  await record(entry('paste-0001', { userAgent: hostile, finding: hostile }));
  const found = await open('/requests/find?id=%20paste-0001%20');
  expect([found.status, found.location]).toEqual([303, `${url}/requests/paste-0001`]);
  const shown = await open('/requests/paste-0001');
  expect(shown.body).toContain('The token was valid, but has expired.');
  expect([shown.body.includes('<img'), shown.body.includes('&lt;img src=x')]).toEqual([
    false,
    true,
  ]);
  const filtered = await open('/requests?reason=token_expired&clientId=odd');
  expect([filtered.status, filtered.body.includes('paste-0001')]).toEqual([200, false]);
  // A filter that means nothing counts as absent, so that an old link still opens.
  expect((await open('/requests?reason=no_such_reason&since=x')).body).toContain('paste-0001');
  expect((await open('/requests?since=2020-01-01T00:00:00Z')).body).toContain('paste-0001');
  expect((await open('/requests/never-seen-0001')).body).toContain('The log does not have this');
  expect((await open('/requests/short')).status).toBe(400);
});

test('a command that operators copy runs nothing that is in the id of a client', async () => {
  const clientId = 'https://evil.example/c?$(echo evil)`echo evil`"\\';
  const known = { clientId, verified: false, method: 'POST' };
  await record(
    entry('shell-0001', { ...known, credential: 'signature' }),
    entry('shell-0002', { ...known, app: 'authorization-server', operation: 'token' }),
  );
  const argumentsOf = async (id: string) => {
    const { body } = await open(`/requests/${id}`);
    const [, shown = ''] = /<pre translate="no">(curl [^<]*)<\/pre>/.exec(body) ?? [];
    const command = shown.replaceAll('&quot;', '"').replaceAll('&amp;', '&');
    const program = `curl() { printf '%s\\n' "$@"; }\n${command}`;
    return spawnSync('sh', ['-c', program], { encoding: 'utf8' }).stdout.split('\n');
  };
  expect(await argumentsOf('shell-0001')).toContain(`X-Client-Id: ${clientId}`);
  expect(await argumentsOf('shell-0002')).toContain(`${encodeURIComponent(clientId)}:`);
});

test('of several requests with one id, the verified one is shown first', async () => {
  const at = Date.now();
  await record(
    entry('twice-0001', { at: at - 10 }),
    entry('twice-0001', { at, verified: false, reason: 'token_unknown' }),
  );
  const { body } = await open('/requests/twice-0001');
  expect(body).toContain('<code translate="no">token_expired</code>');
  const other = new Date(at).toISOString();
  expect(body).toContain(`href="/requests/twice-0001?at=${encodeURIComponent(other)}"`);
  expect((await open(`/requests/twice-0001?at=${other}`)).body).toContain(
    '<code translate="no">token_unknown</code>',
  );
});

test('the export ends after the last request, and has no texts of the catalogue', async () => {
  const { body, headers } = await open('/requests/export?clientId=fleet');
  const lines = body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(headers.get('content-disposition')).toBe('attachment; filename="requests.jsonl"');
  expect(lines.map(({ requestId }) => requestId)).toContain('paste-0001');
  expect(lines.every((line) => !('explanation' in line))).toBe(true);
});

test('a stream ends with the session', async () => {
  const { reply } = follow();
  const { body } = await reply;
  setAhead(16);
  await until(async () => {
    const chunks: unknown[] = [];
    for await (const chunk of body ?? []) {
      chunks.push(chunk);
    }
    return chunks.length > 0;
  });
  setAhead(0);
});
