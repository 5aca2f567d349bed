/** Operators who create, change and remove the same record at the same time, in two processes. */
import { expect, test } from '@jest/globals';
import { codeOf, describeOnBothEngines, operator } from './opened-operators.ts';

const ROUNDS = 5;

describeOnBothEngines('operators at the same time', (opened) => {
  const define = (clientId: string, name: string) => ({ clientId, name, orgId: 'acme' });
  const kinds = [
    {
      kind: 'clients',
      create: async (id: string, name: string) =>
        (await opened().operators.clients.create(operator, define(id, name))).client,
      idOf: ({ clientId = '' }: { readonly clientId?: string }) => clientId,
    },
    {
      kind: 'organizations',
      create: (id: string, name: string) =>
        opened().operators.organizations.create(operator, { id, name }),
      idOf: ({ id = '' }: { readonly id?: string }) => id,
    },
    {
      kind: 'users',
      create: async (username: string, name: string) =>
        (await opened().operators.users.create(operator, { username, name, orgId: 'acme' })).user,
      idOf: ({ userId = '' }: { readonly userId?: string }) => userId,
    },
  ] as const;

  test.each(kinds)('create one of the $kind', async ({ create }) => {
    const names = ['A', 'B', 'C', 'D', 'E'];
    const creations = await Promise.allSettled(names.map((name) => create('once', name)));
    const created = creations.filter(({ status }) => status === 'fulfilled');
    expect(created).toHaveLength(1);
  });

  test.each(kinds)('change or remove one of the $kind', async ({ kind, create, idOf }) => {
    const { operators } = opened();
    const { operators: others } = opened().open();
    for (let round = 0; round < ROUNDS; round += 1) {
      const { version: ifVersion, ...created } = await create(`raced-${round}`, 'X');
      const id = idOf(created);
      const outcomes = await Promise.all([
        codeOf(operators[kind].change(operator, id, { name: 'Y' }, { ifVersion })),
        codeOf(others[kind].remove(operator, id, { ifVersion })),
      ]);
      expect(outcomes.filter((code) => code === undefined)).toHaveLength(1);
    }
  });

  test.each(kinds)('remove an outdated copy of none of the $kind', async (each) => {
    const { kind, create, idOf } = each;
    const { operators } = opened();
    const { operators: others } = opened().open();
    const { version: ifVersion, ...created } = await create('copied', 'X');
    const id = idOf(created);
    await others[kind].read(id);
    await operators[kind].change(operator, id, { name: 'Y' });
    expect(await codeOf(others[kind].remove(operator, id, { ifVersion }))).toBe(
      'precondition_failed',
    );
  });
});
