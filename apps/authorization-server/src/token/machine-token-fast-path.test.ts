import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse } from 'node:querystring';
import { createLogger, observedRequest, observeRequests } from '@gatehouse/server';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createExactRouting } from '../requests/routes.ts';
import { readPlainTokenRequest, serveMachineTokens } from './machine-token-fast-path.ts';

const GRANT = 'grant_type=client_credentials';
const basic = (text: string) => `Basic ${btoa(text)}`;
const web = basic('web:secret');
const read = readPlainTokenRequest;

describe('a plain token request', () => {
  test('names its client by Basic or in the body, and optionally a scope', () => {
    const plain = {
      clientId: 'web',
      clientSecret: 'secret',
      scope: undefined,
      credential: 'basic',
    };
    expect(read(web, GRANT)).toEqual(plain);
    expect(read(web.replace('Basic', 'bASIC'), `client_id=web&${GRANT}`)).toEqual(plain);
    expect(read(undefined, `${GRANT}&client_id=web&client_secret=secret`)).toEqual({
      ...plain,
      credential: 'body',
    });
    for (const scope of ['device:read device:log', 'device%3Aread+device%3alog']) {
      expect(read(web, `${GRANT}&scope=${scope.replace(' ', '%20')}`)).toEqual({
        ...plain,
        scope: 'device:read device:log',
      });
    }
  });

  test.each([
    ['another grant', web, 'grant_type=refresh_token'],
    ['no grant', web, 'scope=device:read'],
    ['a parameter twice', web, `${GRANT}&${GRANT}`],
    ['an unknown parameter', web, `${GRANT}&resource=x`],
    ['a name without value', web, `${GRANT}&scope`],
    ['an empty pair', web, `${GRANT}&`],
    ['an empty scope', web, `${GRANT}&scope=`],
    ['an encoded name', web, 'grant%5Ftype=client_credentials'],
    ['a scope with other encodings', web, `${GRANT}&scope=device%2Dread`],
    ['a broken encoding', web, `${GRANT}&scope=%3`],
    ['no credentials', undefined, GRANT],
    ['an id alone', undefined, `${GRANT}&client_id=web`],
    ['credentials twice', web, `${GRANT}&client_secret=secret`],
    ['another id next to Basic', web, `${GRANT}&client_id=other`],
    ['an encoded secret', undefined, `${GRANT}&client_id=web&client_secret=%73ecret`],
    ['an encoded secret in Basic', basic('web:%73ecret'), GRANT],
    ['a plus in Basic', basic('web:a+b'), GRANT],
    ['two colons', basic('web:a:b'), GRANT],
    ['an empty secret', basic('web:'), GRANT],
    ['an empty id', basic(':secret'), GRANT],
    ['no colon', basic('web'), GRANT],
    ['another scheme', 'Bearer x', GRANT],
    ['an empty header', '', `${GRANT}&client_id=web&client_secret=secret`],
    ['missing padding', web.replace(/=+$/, ''), GRANT],
    ['two blanks', web.replace(' ', '  '), GRANT],
    [
      'bytes that are no text',
      `Basic ${Buffer.from([0xff, 0x3a, 0xff]).toString('base64')}`,
      GRANT,
    ],
  ])('is not one with %s', (_name, authorization, body) => {
    expect(read(authorization, body)).toBeUndefined();
  });

  test('is read as by form decoding and Basic decoding, for any input', () => {
    const piece = fc.constantFrom(
      ...['grant_type', 'client_credentials', 'client_id', 'client_secret', 'scope', '=', '&'],
      ...['web', 'secret', '+', '%', '%20', '%3A', '%41', ':', '', 'é', '\u0000', ' ', ';'],
    );
    const pair = fc
      .tuple(fc.constantFrom('grant_type', 'client_id', 'client_secret', 'scope'), piece)
      .map((both) => both.join('='));
    const body = fc
      .array(fc.oneof({ weight: 4, arbitrary: pair }, { weight: 1, arbitrary: piece }))
      .map((pairs) => [GRANT, ...pairs].join('&'));
    const authorization = fc.option(
      fc
        .array(piece, { maxLength: 2 })
        .map((more) => `Basic ${Buffer.from(['web:secret', ...more].join('')).toString('base64')}`),
      { nil: undefined },
    );
    let plain = 0;
    fc.assert(
      fc.property(authorization, body, (header, text) => {
        const request = read(header, text);
        if (request === undefined) {
          return;
        }
        plain += 1;
        const form = parse(text);
        const decoded = Buffer.from(header?.slice(6) ?? '', 'base64').toString('utf8');
        const [id, secret] = decoded
          .split(/:(.*)/s)
          .map((half) => decodeURIComponent(half.replaceAll('+', '%20')));
        expect(request).toEqual({
          clientId: header === undefined ? form.client_id : id,
          clientSecret: header === undefined ? form.client_secret : secret,
          scope: form.scope,
          credential: header === undefined ? 'body' : 'basic',
        });
        expect(form.grant_type).toBe('client_credentials');
        expect(form.client_id ?? request.clientId).toBe(request.clientId);
      }),
      { numRuns: 20_000, seed: 1 },
    );
    expect(plain).toBeGreaterThan(500);
  });
});

test('the request log names the client of an issued token as verified', async () => {
  const reply = { access_token: 'a', token_type: 'Bearer', expires_in: 7200, scope: '' };
  const handle = serveMachineTokens(async () => reply, {
    audit: { record: () => undefined } as never,
  });
  const app = createExactRouting([]);
  let notes: unknown;
  app.post('/token', (request, ...rest) => {
    notes = observedRequest(request).notes;
    return handle(request, ...rest);
  });
  const logger = createLogger({ app: 'test', level: 'silent' });
  const server = createServer(observeRequests(app, logger)).listen(0);
  await once(server, 'listening');
  const { status } = await fetch(
    `http://localhost:${(server.address() as AddressInfo).port}/token`,
    {
      method: 'POST',
      headers: { authorization: web },
      body: new URLSearchParams(GRANT),
    },
  );
  server.closeAllConnections();
  server.close();
  expect(status).toBe(200);
  expect(notes).toEqual({ clientId: 'web', credential: 'basic', verified: true });
});
