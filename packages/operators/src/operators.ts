import type { Identity } from '@gatehouse/identity';
import { createClientKeyActs } from './client-keys.ts';
import { createClientActs } from './clients.ts';
import { createDependencies, withOperatorErrors } from './operator.ts';
import { createOrganizationActs } from './organizations.ts';
import { createUserAccessActs } from './user-access.ts';
import { createUserActs } from './users.ts';

export type Operators = ReturnType<typeof openOperators>;

/**
 * Everything that operators do. All of it throws OperatorError, and StoreUnavailableError.
 *
 * @param options.now epoch milliseconds
 */
export function openOperators(identity: Identity, { now }: { readonly now?: () => number } = {}) {
  const dependencies = createDependencies(identity, now);
  const users = { ...createUserActs(dependencies), ...createUserAccessActs(dependencies) };
  return {
    /** Records what an operator did outside of these acts. */
    record: dependencies.record,
    organizations: withOperatorErrors(createOrganizationActs(dependencies)),
    clients: withOperatorErrors(createClientActs(dependencies)),
    clientKeys: withOperatorErrors(createClientKeyActs(dependencies)),
    users: withOperatorErrors(users),
  };
}
