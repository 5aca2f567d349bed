/** The screen of tokens: what a token is, without a trace of it, and what a revocation ends. */
import type { VisitedPage } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { addClients } from './client-fixtures.ts';
import { startConsole } from './in-process-console.ts';
import { browsing, reader } from './installation.ts';

const gatehouse = await startConsole();
const { url, identity } = gatehouse;
const { token } = await addClients(gatehouse);
const { visitor } = await gatehouse.signIn();

const { open, act } = browsing(visitor, url);

const textOf = ({ body }: VisitedPage) => body.replace(/<[^>]+>/g, '');
const pathOf = ({ location = '' }: VisitedPage) => location.slice(url.length);
const inspect = (value: string) => act('/tokens', '/tokens/inspect', { value });
const isRevoked = async (value: string) => (await identity.revocations.find(value))?.isRevoked;

test('a token is found and revoked without a trace of its value', async () => {
  const [value, other] = [await token(), await token()];
  const found = await inspect(value);
  expect([found.status, pathOf(found)]).toEqual([
    303,
    expect.stringMatching(/^\/tokens\?reference=/),
  ]);
  const shown = await open(pathOf(found));
  expect(textOf(shown)).toMatch(
    /StateActive\s*KindAccess token of a machine\s*ClientFleet service\s*Scopes *device:read\s*ResourceDevice API\s*Key[\da-f]+/,
  );
  const [, revoke = ''] = /href="(\/tokens\/revoke\?reference[^"]*)"/.exec(shown.body) ?? [];
  const effect = await open(revoke);
  expect(textOf(effect)).toContain('This ends 1 token of Fleet service');
  const revoked = await act(revoke, '/tokens/revoke');
  expect([revoked.status, pathOf(revoked)]).toEqual([303, '/tokens']);
  expect([await isRevoked(value), await isRevoked(other)]).toEqual([undefined, false]);
  await identity.audit.flush();
  const [entry] = await identity.audit.read({ event: 'token_revoked', limit: 1 });
  expect(entry).toMatchObject({ actor: 'console', clientId: 'fleet' });
  const traces = [
    ...[pathOf(found), shown.body, effect.body, revoked.body, (await open('/tokens')).body],
    ...[gatehouse.log(), await gatehouse.storedText(), JSON.stringify(entry)],
  ];
  expect(traces.map((text) => text.includes(value))).toEqual(traces.map(() => false));
  expect(textOf(await open(pathOf(found)))).toContain('No token and no logged request');
});

test('a rejected value is not shown again, and an invented reference finds nothing', async () => {
  const rejected = await inspect('not-a-token-of-this-installation');
  expect([rejected.status, rejected.body.includes('not-a-token')]).toEqual([422, false]);
  expect(rejected.body).toContain('id="inspect-value-problem"');
  const forged = Buffer.from('{"jti":"x","client_id":"fleet","gatehouse":{}}').toString(
    'base64url',
  );
  for (const reference of ['x', `${forged}.`, `${forged}.${'A'.repeat(43)}`, '..']) {
    const page = await open(`/tokens?${new URLSearchParams({ reference })}`);
    expect([page.status, textOf(page)]).toEqual([200, expect.stringContaining('No token')]);
    expect((await open(`/tokens/revoke?${new URLSearchParams({ reference })}`)).status).toBe(404);
  }
});

test('a request id finds the request, with its client and key', async () => {
  const found = await inspect('request-0001');
  expect(pathOf(found)).toBe('/requests/request-0001');
  expect(textOf(await open(pathOf(found)))).toMatch(/Client *legacy\s*Credential *signature\s*Key/);
});

test('the tokens of a client end after their number was named', async () => {
  const values = [await token(), await token()];
  const chosen = await act('/tokens', '/tokens/client', { client: 'fleet' });
  expect(pathOf(chosen)).toBe('/clients/fleet/revoke');
  expect(textOf(await open(pathOf(chosen)))).toMatch(/This ends \d+ tokens of 1 client\./);
  await act(pathOf(chosen), pathOf(chosen));
  expect(await Promise.all(values.map(isRevoked))).toEqual([undefined, undefined]);
  const unknown = await act('/tokens', '/tokens/client', { client: 'nobody' });
  expect([unknown.status, unknown.body]).toEqual([
    422,
    expect.stringContaining('No client has this id.'),
  ]);
});

test('the tokens of a user end, found by name', async () => {
  await gatehouse.signIn('/organizations', reader);
  const chosen = await act('/tokens', '/tokens/user', { user: reader.username });
  expect(textOf(await open(pathOf(chosen)))).toMatch(
    /End all sessions of Rita Reader\?.*This ends 1 session, and [1-9]\d* tokens? of 1 client\./s,
  );
  const { userId = '' } = (await identity.users.findByUsername(reader.username)) ?? {};
  const before = (await identity.users.find(userId))?.notBefore ?? 0;
  await act(pathOf(chosen), pathOf(chosen));
  expect((await identity.users.find(userId))?.notBefore).toBeGreaterThan(before);
});

test('everything ends only with the explicit parameter', async () => {
  for (const query of ['', '?all=', '?all=false', '?all=true&clientId=fleet']) {
    expect([query, (await open(`/tokens/revoke${query}`)).status]).toEqual([query, 400]);
  }
  const value = await token('legacy');
  const path = '/tokens/revoke?all=true';
  expect(textOf(await open(path))).toMatch(/This ends all tokens.*clients and \d+ users must/);
  expect((await act(path, '/tokens/revoke')).status).toBe(303);
  expect(await isRevoked(value)).toBe(true);
});
