import { expect, test } from '@jest/globals';
import type { RequestEntry } from './request-entry.ts';
import { OWNER_OVERFLOW } from './request-queue.ts';
import type { SharedTrail } from './request-trails.ts';
import { createRequestWriter } from './request-writer.ts';

/** Writes ten entries of an owner that may add two, and returns what was stored and counted. */
async function write(trail: SharedTrail) {
  const stored: unknown[] = [];
  const counted: unknown[] = [];
  const writer = createRequestWriter({
    trails: {
      append: async (to, entries) => {
        stored.push([to, entries.map(({ at }) => at)]);
      },
      read: async () => [],
    },
    shares: { take: async () => 2, isOpen: () => true } as never,
    count: (result, entries) => counted.push([result, entries]),
  });
  const entries = Array.from({ length: 10 }, (_, at) => ({ at }) as RequestEntry);
  await writer([{ trail, owner: 'noisy', entries }]);
  return { stored, counted };
}

test.each(['client', 'caller'] as const)(
  'The newest failures beyond the share of a %s are stored in the overflow.',
  async (trail) => {
    expect(OWNER_OVERFLOW).toBe(4);
    expect(await write(trail)).toEqual({
      stored: [
        [trail, [0, 1]],
        [`${trail}-overflow`, [6, 7, 8, 9]],
      ],
      counted: [
        ['over_quota', 4],
        ['stored', 2],
        ['stored', 4],
      ],
    });
  },
);

test('Successes beyond a share are not stored.', async () => {
  expect(await write('success')).toEqual({
    stored: [['success', [0, 1]]],
    counted: [
      ['over_quota', 8],
      ['stored', 2],
    ],
  });
});
