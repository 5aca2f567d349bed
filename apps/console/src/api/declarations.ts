/** Organizations, clients and settings that a team declares in files. */
import { ApiError } from '@gatehouse/errors';
import { declarationsSchema } from '@gatehouse/identity';
import { parseInput, plannedChange } from '@gatehouse/operators';
import { z } from 'zod';
import { toFailure } from './messages.ts';
import { operation, secret } from './operation.ts';

const declared = declarationsSchema.extend({
  prune: z.boolean().default(false).describe('Also remove what is not declared.'),
});
const example = { organizations: [{ id: 'acme', name: 'Acme' }] };
const changes = z.array(plannedChange.meta({ id: 'PlannedChange' }));
const key = z.object({ clientId: z.string(), secureKey: secret('The generated secure key.') });

export const declarationOperations = [
  operation('declarations.export', 'GET /declarations', {
    summary: 'Read everything that can be declared, without secrets and defaults',
    reply: z.looseObject({
      organizations: z.array(z.looseObject({})),
      clients: z.array(z.looseObject({})),
    }),
    run: ({ operators }) => operators.declarations.export(),
  }),
  operation('declarations.plan', 'POST /declarations/plan', {
    summary: 'Show what declarations would change',
    isRead: true,
    body: declared,
    example,
    reply: z.object({ changes, version: z.string().describe('For If-Match.') }),
    run({ operators, body }) {
      const { prune, ...wanted } = parseInput(declared, body);
      return operators.declarations.plan(wanted, { prune });
    },
  }),
  operation('declarations.apply', 'POST /declarations', {
    summary: 'Make what exists equal to declarations',
    isConditional: true,
    description:
      'Each change is one act. The first failure stops it. Then the problem details have `done`, `secureKeys` and `notDone`, too. `If-Match` has the `version` of the plan.',
    body: declared,
    example,
    reply: z.object({ done: changes, secureKeys: z.array(key), notDone: changes }),
    async run({ operators, operator, body, condition }) {
      const { prune, ...wanted } = parseInput(declared, body);
      const applied = await operators.declarations.apply(operator, wanted, { prune }, condition);
      const { failure, ...result } = applied;
      if (failure !== undefined) {
        const { code, message, headers, reason } = toFailure(failure, 'POST');
        throw new ApiError(code, { message, headers, reason, cause: failure, result });
      }
      return result;
    },
  }),
];
