/** The operations of the document, and their schemas as components. */
import { z } from 'zod';
import type { Operation } from '../operation.ts';
import { type OperationName, operations } from '../routes.ts';
import type { Json } from './parts.ts';

/** The operation that the gateway implements itself (operation 4 of the specification). */
export const issueAccessToken = 'access-token.issue';

/** The operations that the document describes. */
export type DescribedOperation = OperationName | typeof issueAccessToken;

export type Entry = Omit<Operation<DescribedOperation>, 'scope' | 'paths'>;

/** `POST /api/v1/token`: the gateway reads the body, so this schema only describes it. */
const accessToken: Entry = {
  name: issueAccessToken,
  methods: ['POST'],
  request: z.strictObject({
    expires: z
      .int()
      .optional()
      .describe('Lifetime in seconds. 0 or less means the maximum. Default: 7200.'),
  }),
  reply: z.string().describe('The token. Send it in the header `X-Access-Token`.'),
  tag: 'Tokens',
  summary: 'Issue an X-Access-Token',
  description: 'Accepts only signed requests.',
  example: { request: { expires: 3600 }, result: 'l9Zc0wq3bT7yN4uXkP2sVg' },
};

export const entries: readonly Entry[] = [...operations, accessToken];

/** `device.create-batch` → `DeviceCreateBatchReply` */
export function replyName({ name }: Entry): string {
  return `${name.replaceAll(/(?:^|[.-])(\w)/g, (_all, first: string) => first.toUpperCase())}Reply`;
}

export function envelope({ name }: { readonly name: string }, result: Json | undefined): Json {
  const integer = (text: string) => ({ type: 'integer', format: 'int64', description: text });
  const properties = {
    status: { const: 200 },
    code: { const: 'success' },
    message: { const: 'success' },
    ...(result === undefined ? {} : { result }),
    ...(name === issueAccessToken ? { expires: integer('Lifetime in seconds.') } : {}),
    timestamp: integer('Epoch milliseconds.'),
  };
  const required = Object.keys(properties);
  return { type: 'object', required, properties, additionalProperties: false };
}
