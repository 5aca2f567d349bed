/** Finds scopes and resources: those that operators declare, and those of the API of the console. */
import { isOperatorApi } from './operators.ts';
import { isDeviceScope, type Resource } from './resource.ts';
import type { DeclaredScope, Settings } from './settings.ts';

/** The scopes that belong to a resource, or to the device API if it is undefined. */
export function scopesOfResource(
  scopes: readonly string[],
  resource: string | undefined,
  settings: Settings,
): readonly string[] {
  return resource === undefined
    ? scopes.filter(isDeviceScope)
    : scopes.filter((scope) => findScope(scope, settings)?.resource.resource === resource);
}

/** A declared scope, or one of the API of the console. */
export const findScope = (name: string, settings: Settings): DeclaredScope | undefined =>
  settings.operators?.scopes.get(name) ?? settings.scopes.get(name);

/** A declared resource, or the API of the console. */
export const findResource = (identifier: string, settings: Settings): Resource | undefined =>
  isOperatorApi(identifier, settings)
    ? settings.operators?.resource
    : settings.resources.get(identifier);

/** Whether a user with these roles may receive the scope. All users may receive others. */
export function isScopeForRoles(
  scope: string,
  roles: readonly string[],
  settings: Settings,
): boolean {
  const { roles: required = [], resource } = findScope(scope, settings) ?? {};
  const isForAll = required.length === 0 && !isOperatorApi(resource?.resource, settings);
  return isForAll || required.some((each) => roles.includes(each));
}
