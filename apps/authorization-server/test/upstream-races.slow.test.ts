// requires: redis-server
/** A return from an upstream provider signs in once, however many requests present it at a time. */
import { createPageVisitor, storeEngines } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { cookiesOf } from './server.ts';
import { createBrowsers, startWithUpstreams } from './upstream-servers.ts';

const ROUNDS = 200;
const REQUESTS = 50;

const statusOf = ({ status }: Response) => status;
const environment = { TRUSTED_PROXIES: '127.0.0.0/8, ::1' };
const upstreams = await startWithUpstreams({ servers: 2, environment }, storeEngines);
const { host, lax, started } = upstreams;
lax.changes = {};

describe.each(started)('on $engine', ({ system }) => {
  test('one of 50 requests with the same return signs in, in each of 200 races', async () => {
    const { leave } = createBrowsers(upstreams, system);
    const redeemed = lax.redeemed;
    const winners: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      // The limits count each address.
      const from = { 'x-forwarded-for': `10.0.${round}.1` };
      const visitor = createPageVisitor((target, init = {}) =>
        host.send(target, { ...init, headers: { ...init.headers, ...from } }),
      );
      const { location } = await leave('lax', visitor);
      const { location: callback = '' } = await visitor.get(location);
      const { pathname, search } = new URL((await visitor.get(callback)).location ?? '');
      const headers = { ...from, cookie: cookiesOf(visitor, pathname) };
      const replies = await Promise.all(
        Array.from({ length: REQUESTS }, (_, turn) =>
          fetch(`${system.authorizationServerUrls[turn % 2]}${pathname}${search}`, {
            ...{ headers, redirect: 'manual' },
          }),
        ),
      );
      await Promise.all(replies.map((reply) => reply.arrayBuffer()));
      const signedIn = replies.filter((reply) =>
        reply.headers.get('location')?.includes('/authorize/'),
      );
      winners.push(signedIn.length);
      const others = new Set(replies.filter((each) => !signedIn.includes(each)).map(statusOf));
      expect(others).toEqual(new Set([400]));
    }
    expect(winners).toEqual(Array(ROUNDS).fill(1));
    expect(lax.redeemed - redeemed).toBe(ROUNDS);
  });
});
