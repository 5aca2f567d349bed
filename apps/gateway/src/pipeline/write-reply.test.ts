import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import type { Reply } from '../messages.ts';
import { writeReply } from './write-reply.ts';

test('A streamed body continues when the caller has read what was written.', () => {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  let resumed = 0;
  const body = {
    arrived: () => undefined,
    announcedLength: undefined,
    connect: () => undefined,
    resume: () => {
      resumed += 1;
    },
  };
  writeReply({ status: 200, headers: [], body } as unknown as Reply, request, response);
  response.emit('drain');
  expect(resumed).toBe(1);
});
