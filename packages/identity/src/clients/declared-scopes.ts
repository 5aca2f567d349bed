/**
 * Which scopes a client can have: those that it is registered for, of the resources that operators
 * declare. Clients that no operator registered never have those of the API of the console.
 */
import { memoized, RejectedChangeError } from '../records/record.ts';
import { isOperatorScope } from '../settings/operators.ts';
import { isDeviceScope, isKnownScope } from '../settings/resource.ts';
import { findResource, findScope } from '../settings/scopes.ts';
import type { Settings } from '../settings/settings.ts';
import type { Client, ClientSettings } from './client.ts';

/** @throws RejectedChangeError if a client that was registered dynamically gets a scope of operators */
export function assertMayOperate(
  { scopes, registration }: Client,
  existing: Client | undefined,
  { operators }: Settings,
): void {
  const added = scopes.find((scope) => operators?.scopes.has(scope) === true);
  if (registration !== undefined && added !== undefined && !existing?.scopes.includes(added)) {
    throw new RejectedChangeError(
      `A client that was registered dynamically cannot have the scope ${added}. Add another client: gatehouse clients add`,
    );
  }
}

/**
 * The client with its default resource: if it has no scope of the device API, the resource of its
 * first scope.
 *
 * @throws RejectedChangeError if it gets a scope or resource that is not declared
 */
export function withDeclaredScopes<Settled extends ClientSettings>(
  client: Settled,
  existing: Client | undefined,
  declared: Settings,
): Settled {
  const { scopes, defaultResource } = client;
  const ofResources = scopes.filter((scope) => !isKnownScope(scope));
  const isNew = (scope: string) => existing?.scopes.includes(scope) !== true;
  const unknown = ofResources.find((scope) => isNew(scope) && !findScope(scope, declared));
  if (unknown !== undefined) {
    const advice = isOperatorScope(unknown)
      ? 'It is for the API of the console: set CONSOLE_URL'
      : 'Declare it first: gatehouse bootstrap apply FILE';
    throw new RejectedChangeError(`No resource declares the scope ${unknown}. ${advice}`);
  }
  if (
    defaultResource !== undefined &&
    defaultResource !== existing?.defaultResource &&
    !findResource(defaultResource, declared)
  ) {
    throw new RejectedChangeError(`The resource ${defaultResource} is not declared.`);
  }
  if (defaultResource !== undefined || scopes.some(isDeviceScope)) {
    return client;
  }
  return {
    ...client,
    defaultResource: findScope(ofResources[0] ?? '', declared)?.resource.resource,
  };
}

/**
 * A client that was registered dynamically. It can have a scope of this name from the time when
 * another resource declared it.
 */
export const withoutOperatorScopes = memoized(
  (client: Client): Client => ({
    ...client,
    scopes: client.scopes.filter((scope) => !isOperatorScope(scope)),
  }),
);
