/**
 * The API of the console: a built-in resource. Operators decide who may use it (`operators` of the
 * settings), and CONSOLE_URL where it is. It is not among the declared resources, so that what
 * applies to all of those never applies to it: metadata documents, registrations, routes.
 */
import { z } from 'zod';
import { RejectedChangeError, role } from '../records/record.ts';
import { operatorTexts } from './operator-texts.ts';
import type { Resource } from './resource.ts';

export const operatorScopes = ['operator:read', 'operator:write'] as const;

export type OperatorScope = (typeof operatorScopes)[number];

export const isOperatorScope = (scope: string): scope is OperatorScope =>
  (operatorScopes as readonly string[]).includes(scope);

/** `operators` of the bootstrap file. */
export const operatorsSchema = z.strictObject({
  /** Only users with one of these roles get the scopes. Empty: no user. */
  roles: z.array(role).max(50).default([]),
});

/** The identifier of the resource, and the address of the API. */
export const operatorApiOf = (consoleUrl: string): string => `${consoleUrl}/admin/v1`;

/** Of each token, in seconds. A stolen one is more dangerous than that of another API. */
const TOKEN_SECONDS = 15 * 60;

export type OperatorApi = ReturnType<typeof describeApi>;

/** What decides about the API. Undefined: there is none. */
type Operators = Readonly<{ operators: OperatorApi | undefined }>;

function describeApi(consoleUrl: string, roles: readonly string[]) {
  const resource: Resource = {
    resource: operatorApiOf(consoleUrl),
    name: 'Gatehouse',
    scopes: Object.fromEntries(
      operatorScopes.map((scope) => [
        scope,
        { description: operatorTexts[scope], roles: [...roles] },
      ]),
    ),
    lifetimes: { accessToken: TOKEN_SECONDS },
  };
  const scopes = Object.entries(resource.scopes).map(
    ([name, scope]) => [name, { ...scope, resource }] as const,
  );
  return { resource, roles, scopes: new Map(scopes) };
}

/**
 * Undefined without a console, and while a declared resource has the identifier or a scope of the
 * API: the scope would give rights that clients got for another API.
 */
export function operatorApi(
  consoleUrl: string | undefined,
  declared: {
    readonly resources: readonly Resource[];
    readonly operators?: z.output<typeof operatorsSchema> | undefined;
  },
): OperatorApi | undefined {
  return consoleUrl === undefined || conflicting(consoleUrl, declared.resources)
    ? undefined
    : describeApi(consoleUrl, declared.operators?.roles ?? []);
}

/** @throws RejectedChangeError if a declared resource has the identifier or a scope of the API */
export function assertNoConflict(
  consoleUrl: string | undefined,
  declared: readonly Resource[],
): void {
  const other = consoleUrl === undefined ? undefined : conflicting(consoleUrl, declared);
  if (other !== undefined) {
    throw new RejectedChangeError(
      `The resource ${other.resource} has the identifier or a scope of the API of the console. Rename it, or unset CONSOLE_URL.`,
    );
  }
}

function conflicting(consoleUrl: string, declared: readonly Resource[]): Resource | undefined {
  return declared.find(
    ({ resource, scopes }) =>
      resource === operatorApiOf(consoleUrl) ||
      operatorScopes.some((scope) => Object.hasOwn(scopes, scope)),
  );
}

/** Whether the identifier is that of the API. */
export const isOperatorApi = (identifier: string | undefined, { operators }: Operators): boolean =>
  operators !== undefined && operators.resource.resource === identifier;

/** Whether users with these roles may use the API. */
export const isOperator = (roles: readonly string[], { operators }: Operators): boolean =>
  operators?.roles.some((each) => roles.includes(each)) === true;
