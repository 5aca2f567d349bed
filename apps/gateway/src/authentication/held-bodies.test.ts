import { describe, expect, test } from '@jest/globals';
import { BodyRoom, type Occupant } from './held-bodies.ts';

class Body implements Occupant {
  bytes = 0;
  evictedWith: Error | undefined;
  readonly group: string;
  readonly patienceUntil: number;

  constructor(group: string, patienceUntil: number) {
    this.group = group;
    this.patienceUntil = patienceUntil;
  }

  evict(error: Error): void {
    this.evictedWith = error;
  }
}

const unavailable = expect.objectContaining({ code: 'service_unavailable' });

describe('the room for bodies', () => {
  test('rejects a body that can never fit, and only that one', () => {
    const room = new BodyRoom({ totalBytes: 100, addressBytes: 100 });
    const body = new Body('a', 1);
    room.take(body, 60);
    expect(() => room.take(body, 41)).toThrow(
      expect.objectContaining({ code: 'payload_too_large' }),
    );
    room.take(body, 40);
    expect(body.bytes).toBe(100);
  });

  test('evicts the slowest body of all groups', () => {
    const room = new BodyRoom({ totalBytes: 100, addressBytes: 100 });
    const bodies = [new Body('a', 5), new Body('b', 3), new Body('c', 4)];
    for (const body of bodies) {
      room.take(body, 30);
    }
    room.take(new Body('d', 6), 11);
    expect(bodies.map(({ evictedWith }) => evictedWith)).toEqual([
      undefined,
      unavailable,
      undefined,
    ]);
    expect(bodies.map(({ bytes }) => bytes)).toEqual([30, 0, 30]);
  });

  test('rejects a body that is itself the slowest, and evicts none', () => {
    const room = new BodyRoom({ totalBytes: 100, addressBytes: 100 });
    const complete = new Body('a', Number.POSITIVE_INFINITY);
    const slow = new Body('b', 1);
    room.take(complete, 60);
    room.take(slow, 40);
    expect(() => room.take(slow, 1)).toThrow(unavailable);
    expect([complete.evictedWith, slow.evictedWith]).toEqual([undefined, undefined]);
    room.leave(slow);
    room.take(new Body('c', 1), 40);
  });

  test('evicts only bodies of the same group if the group exceeds its part', () => {
    const room = new BodyRoom({ totalBytes: 100, addressBytes: 50 });
    const other = new Body('a', 1);
    const slow = new Body('b', 2);
    const fast = new Body('b', 3);
    room.take(other, 10);
    room.take(slow, 25);
    room.take(fast, 25);
    expect(slow.evictedWith).toBeUndefined();
    room.take(fast, 1);
    expect([other.evictedWith, slow.evictedWith]).toEqual([undefined, unavailable]);
  });

  test('lets the only body of a group exceed its part', () => {
    const room = new BodyRoom({ totalBytes: 100, addressBytes: 50 });
    const only = new Body('a', 1);
    room.take(only, 40);
    room.take(only, 40);
    expect(only.bytes).toBe(80);
    expect(() => room.take(new Body('a', 0), 1)).toThrow(unavailable);
  });

  test('gets the memory of a body back once, however often the body leaves', () => {
    const room = new BodyRoom({ totalBytes: 100, addressBytes: 100 });
    const stays = new Body('a', 2);
    const leaves = new Body('a', 1);
    room.take(stays, 50);
    room.take(leaves, 50);
    room.leave(leaves);
    room.leave(leaves);
    expect(leaves.bytes).toBe(0);
    room.take(new Body('b', 3), 50);
    expect(stays.evictedWith).toBeUndefined();
    room.take(new Body('b', 3), 1);
    expect(stays.evictedWith).toEqual(unavailable);
  });
});
