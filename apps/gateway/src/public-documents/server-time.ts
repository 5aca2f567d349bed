import { successEnvelope } from '@gatehouse/errors';
import { jsonHeaders } from '../http/reply.ts';
import type { PublicDocument } from './public-documents.ts';

/** `/time`: the clock of the gateway, for devices that sign requests but have no clock. */
export function createServerTime(now: () => number): PublicDocument {
  return {
    operation: 'time',
    paths: ['/time'],
    description: {
      summary: 'Get the time of the gateway',
      schema: {
        type: 'object',
        required: ['status', 'code', 'message', 'result', 'timestamp'],
        properties: {
          status: { const: 200 },
          code: { const: 'success' },
          message: { type: 'string' },
          result: {
            type: 'integer',
            format: 'int64',
            description: 'Epoch milliseconds, as in X-Timestamp.',
          },
          timestamp: { type: 'integer', format: 'int64', description: 'Epoch milliseconds.' },
        },
        additionalProperties: false,
      },
    },
    read() {
      const time = now();
      const body = Buffer.from(JSON.stringify(successEnvelope(time, time)));
      return { status: 200, headers: [...jsonHeaders], body };
    },
  };
}
