import type { RequestNotes } from '@gatehouse/server';
import { describe, expect, test } from '@jest/globals';
import { noteUpstreamFailure } from './forward.ts';

function notesFor(status: number, ...headers: string[]): RequestNotes {
  const notes: RequestNotes = {};
  noteUpstreamFailure({ status, headers }, notes);
  return notes;
}

describe('the reason of an error reply of an upstream', () => {
  test('is that of X-Failure', () => {
    const headers = ['x-failure', 'service_unavailable database_unavailable'];
    expect(notesFor(503, ...headers)).toEqual({
      code: 'service_unavailable',
      reason: 'database_unavailable',
    });
  });

  test.each([
    ['no header', []],
    ['text that an upstream made up', ['x-failure', 'not_found "},{"level":"fatal']],
    ['a code that is not in the catalogue', ['x-failure', 'made_up not_found']],
    ['a code with another status', ['x-failure', 'duplicate_key illegal_argument']],
    ['a property of every object', ['x-failure', 'not_found constructor']],
    ['nothing', ['x-failure', '']],
  ])('is general if the upstream sends %s', (_name, headers) => {
    expect(notesFor(404, ...headers)).toEqual({ reason: 'upstream_refused' });
  });
});
