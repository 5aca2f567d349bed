import { z } from 'zod';

/** `POST /api/v1/token`: the gateway reads the body, so this schema only describes it. */
export const accessTokenOperation = {
  request: z.strictObject({
    expires: z
      .int()
      .optional()
      .describe('Lifetime in seconds. 0 or less means the maximum. Default: 7200.'),
  }),
  reply: z.string().describe('The token. Send it in the header `X-Access-Token`.'),
};

/** The reply has the lifetime next to the result. */
export const accessTokenMembers = {
  expires: { type: 'integer', format: 'int64', description: 'Lifetime in seconds.' },
};
