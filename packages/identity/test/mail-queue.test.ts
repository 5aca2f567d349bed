import { randomUUID } from 'node:crypto';
import { StoreFullError } from '@gatehouse/store';
import { expect, test } from '@jest/globals';
import type { QueuedMail } from '../src/index.ts';
import { describeOnEngines } from './engines.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

describeOnEngines('the queue of mails', ({ openIdentity }) => {
  function open() {
    const state = { now: Date.now() };
    const queue = `org-${randomUUID()}`;
    const opened = [openIdentity(() => state.now), openIdentity(() => state.now)] as const;
    const [{ mails, store }] = opened;
    const wanted = { kind: 'reset', login: 'a name as entered', at: state.now } as const;
    const due = () => mails.due(queue);
    return { state, queue, opened, mails, store, wanted, due };
  }
  const firstOf = async (due: () => Promise<readonly QueuedMail[]>): Promise<QueuedMail> => {
    const [mail] = await due();
    if (mail === undefined) {
      throw new Error('No mail is due.');
    }
    return mail;
  };

  test('gives each attempt to one of several servers, and keeps nothing readable', async () => {
    const { queue, opened, mails, store, wanted, due } = open();
    await mails.add(queue, wanted);
    const mail = await firstOf(due);
    const claims = opened.flatMap((each) => [each.mails.claim(mail), each.mails.claim(mail)]);
    expect((await Promise.all(claims)).filter((isOwn) => isOwn)).toHaveLength(1);
    // A second attempt has its own claim.
    expect(await mails.claim({ ...mail, failed: 1 })).toBe(true);
    expect(mails.open(mail)).toEqual(wanted);
    expect(mails.open({ ...mail, id: 'other' })).toBeUndefined();
    expect((await store.members(`mails:${queue}`)).join()).not.toContain('entered');
  });

  test('forgets a sent one, and then the queue', async () => {
    const { queue, mails, wanted, due } = open();
    await mails.add(queue, wanted);
    expect(await mails.queues()).toContain(queue);
    expect(await mails.finish(queue, await firstOf(due), true)).toBe(false);
    expect(await due()).toEqual([]);
    expect(await mails.queues()).not.toContain(queue);
  });

  test('tries again with growing pauses for a day, and seals the entry each time', async () => {
    const { state, queue, mails, wanted, due } = open();
    await mails.add(queue, wanted);
    const end = state.now + 24 * HOUR;
    const seals = new Set<string>();
    for (const wait of [10 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, 30 * MINUTE]) {
      const mail = await firstOf(due);
      seals.add(mail.sealed);
      expect(mails.open(mail)).toEqual(wanted);
      expect(await mails.finish(queue, mail, false)).toBe(true);
      state.now += wait - 1;
      expect(await due()).toEqual([]);
      state.now += 1;
    }
    expect(seals.size).toBe(6);
    state.now = end - MINUTE;
    expect(await mails.finish(queue, await firstOf(due), false)).toBe(false);
    expect(await due()).toEqual([]);
  });

  test('is bounded for each organization', async () => {
    const { state, queue, mails, store, wanted } = open();
    for (let each = 0; each < 1000; each += 1) {
      await store.addToIndex(`mails:${queue}`, String(each), state.now + MINUTE);
    }
    await expect(mails.add(queue, wanted)).rejects.toThrow(StoreFullError);
    await mails.add(`other-${queue}`, wanted);
    expect(await mails.due(`other-${queue}`)).toHaveLength(1);
  });

  test('ignores what it cannot read', async () => {
    const { state, queue, mails, store, wanted, due } = open();
    await store.addToIndex(`mails:${queue}`, 'damaged', state.now + MINUTE);
    await mails.add(queue, wanted);
    expect(await due()).toHaveLength(1);
  });

  test('allows three mails an hour of a kind to an address, and for an account', async () => {
    const { mails, queue } = open();
    const [first, second] = [`${queue}@example.com`, `other-${queue}@example.com`];
    const allowed = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        mails.mayMail('reset', i % 2 === 0 ? first : first.toUpperCase()),
      ),
    );
    expect(allowed.filter((each) => each)).toHaveLength(3);
    expect(await mails.mayMail('register', first)).toBe(true);
    const user = randomUUID();
    const ofUser = [];
    for (let i = 0; i < 5; i += 1) {
      ofUser.push(await mails.mayMail('verify', `${i}-${second}`, user));
    }
    expect(ofUser).toEqual([true, true, true, false, false]);
  });
});
