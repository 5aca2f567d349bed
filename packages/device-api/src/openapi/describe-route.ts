import { component, type Json } from './component.ts';
import { describeOperation, isQuery } from './describe-operations.ts';
import { type DescribedRoute, issueAccessToken } from './described-route.ts';
import { commonErrorStatuses, errorResponseName } from './error-responses.ts';
import { operationTexts } from './operation-texts.ts';
import { queryParameterNames } from './parameters.ts';
import type { OperationSchemas } from './schema-components.ts';
import { securityOf } from './security-schemes.ts';

/**
 * An equivalent route omits the example of its reply and the errors of each status, because they
 * would make the document much larger.
 *
 * @param isFirst whether it is the first route of its operation
 */
export function describeRoute(
  route: DescribedRoute,
  isFirst: boolean,
  schemas: OperationSchemas,
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
  const { requestBody, success } = describeOperation(operation, schemas, isFirst);
  const hasBody = requestBody !== undefined && method !== 'GET';
  const parameters = parametersOf(route);
  const errors = Object.fromEntries(
    errorStatuses(route, hasBody).map((status) => [
      status,
      component('responses', errorResponseName(status)),
    ]),
  );
  return {
    ...identity,
    tags: [tag],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(hasBody ? { requestBody } : {}),
    security: securityOf(route),
    responses: {
      200: success,
      ...(isFirst ? errors : { '4XX': component('responses', 'Error') }),
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
