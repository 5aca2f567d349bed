import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { LogoutNotice } from '../src/index.ts';
import { describeOnEngines } from './engines.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;

describeOnEngines('the queue of sign-outs', ({ openIdentity }) => {
  function open() {
    const state = { now: Date.now() };
    const [clientId, userId] = [`client-${randomUUID()}`, `user-${randomUUID()}`];
    const opened = [openIdentity(() => state.now), openIdentity(() => state.now)] as const;
    const [{ logouts, audit, store }] = opened;
    const due = () => logouts.due(clientId);
    const lost = async () => {
      await audit.flush();
      const filter = { event: 'logout_undelivered', clientId, limit: 10 };
      const entries = await audit.read(filter);
      return entries.reduce((sum, { count = 1 }) => sum + count, 0);
    };
    return { state, clientId, userId, opened, logouts, store, due, lost };
  }
  const firstOf = async (due: () => Promise<readonly LogoutNotice[]>): Promise<LogoutNotice> => {
    const [notice] = await due();
    if (notice === undefined) {
      throw new Error('No notice is due.');
    }
    return notice;
  };

  test('gives each attempt to one of several servers', async () => {
    const { clientId, userId, opened, logouts, due } = open();
    await logouts.add(clientId, { userId, sid: 'session-1' });
    const notice = await firstOf(due);
    expect(notice).toMatchObject({ userId, sid: 'session-1', failed: 0 });
    const claims = opened.flatMap((each) => [
      each.logouts.claim(notice),
      each.logouts.claim(notice),
    ]);
    expect((await Promise.all(claims)).filter((isOwn) => isOwn)).toHaveLength(1);
    // A second attempt has its own claim.
    expect(await logouts.claim({ ...notice, failed: 1 })).toBe(true);
  });

  test('forgets a delivered one, and then the client', async () => {
    const { clientId, userId, logouts, due } = open();
    await logouts.add(clientId, { userId });
    expect(await logouts.queues()).toContain(clientId);
    await logouts.finish(clientId, await firstOf(due), true);
    expect(await due()).toEqual([]);
    expect(await logouts.queues()).not.toContain(clientId);
  });

  test('tries again later and later, then gives up and reports it', async () => {
    const { state, clientId, userId, logouts, due, lost } = open();
    await logouts.add(clientId, { userId });
    for (const wait of [10 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE, 120 * MINUTE]) {
      await logouts.finish(clientId, await firstOf(due), false);
      state.now += wait - 1;
      expect(await due()).toEqual([]);
      state.now += 1;
      expect(await due()).toHaveLength(1);
      expect(await lost()).toBe(0);
    }
    await logouts.finish(clientId, await firstOf(due), false);
    expect([await due(), await lost()]).toEqual([[], 1]);
  });

  test('is due after a revocation took effect', async () => {
    const { state, clientId, userId, logouts, due } = open();
    await logouts.add(clientId, { userId, delay: 2 * SECOND });
    expect(await due()).toEqual([]);
    state.now += 2 * SECOND;
    expect(await due()).toHaveLength(1);
  });

  test('is bounded for each client, and reports what does not fit', async () => {
    const { state, clientId, userId, logouts, store, due, lost } = open();
    const other = `other-${clientId}`;
    for (let each = 0; each < 1000; each += 1) {
      await store.addToIndex(`logout-notices:${clientId}`, String(each), state.now + MINUTE);
    }
    await logouts.add(clientId, { userId });
    await logouts.add(other, { userId });
    expect([await due(), await lost()]).toEqual([[], 1]);
    expect(await logouts.due(other)).toHaveLength(1);
  });

  test('ignores what it cannot read', async () => {
    const { state, clientId, userId, logouts, store, due } = open();
    await store.addToIndex(`logout-notices:${clientId}`, 'damaged', state.now + MINUTE);
    await logouts.add(clientId, { userId });
    expect((await due()).map((notice) => notice.userId)).toEqual([userId]);
  });
});
