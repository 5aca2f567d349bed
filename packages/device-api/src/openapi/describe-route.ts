import { component, type Json } from './component.ts';
import { isQuery, type OperationComponents } from './describe-operations.ts';
import { type DescribedRoute, issueAccessToken } from './described-route.ts';
import { commonErrorStatuses, errorResponseName } from './error-responses.ts';
import { operationTexts } from './operation-texts.ts';
import { queryParameterNames } from './parameters.ts';
import { securityOf } from './security-schemes.ts';

/** @param isFirst whether it is the first route of its operation */
export function describeRoute(
  route: DescribedRoute,
  isFirst: boolean,
  { requestBodies }: OperationComponents,
): Json {
  const { operation, method } = route;
  const { tag, summary, description } = operationTexts[operation];
  const identity = isFirst
    ? { operationId: operation, summary, ...(description === undefined ? {} : { description }) }
    : {
        operationId: operationId(route),
        summary: `${summary} (equivalent route)`,
        description: `Equivalent of \`${operation}\`, for existing clients.`,
        deprecated: true,
      };
  const hasBody = Object.hasOwn(requestBodies, operation) && method !== 'GET';
  const parameters = parametersOf(route);
  return {
    ...identity,
    tags: [tag],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(hasBody ? { requestBody: component('requestBodies', operation) } : {}),
    security: securityOf(route),
    responses: {
      200: component('responses', operation),
      ...Object.fromEntries(
        errorStatuses(route, hasBody).map((status) => [
          status,
          component('responses', errorResponseName(status)),
        ]),
      ),
      default: component('responses', 'Error'),
    },
  };
}

/**
 * Stable: it does not depend on other routes. Generators join the words of an id, so `_` and `-`
 * become words. Otherwise `device/instance` and `device-instance` would get the same name.
 */
function operationId({ operation, method, path }: DescribedRoute): string {
  const place = path
    .slice(1)
    .replaceAll('_', 'underscore.')
    .replaceAll('-', '.dash.')
    .replaceAll('/', '.')
    .replaceAll(/[{}]/g, '');
  return `${operation}.${method.toLowerCase()}.${place}`;
}

function parametersOf({ operation, method, path }: DescribedRoute): readonly Json[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return [
    ...names,
    ...(isQuery(operation) && method === 'GET' ? queryParameterNames : []),
    ...(operation === 'device.create-batch' ? ['allOrNothing'] : []),
    ...(operationTexts[operation].hasTexts === true ? ['Accept-Language'] : []),
  ].map((name) => component('parameters', name));
}

function errorStatuses({ operation, path }: DescribedRoute, hasBody: boolean): readonly number[] {
  return [
    ...commonErrorStatuses,
    ...(path.includes('{') ? [404] : []),
    ...(hasBody ? [413, 415] : []),
    ...(operation === issueAccessToken ? [] : [502, 504]),
  ].sort((one, other) => one - other);
}
