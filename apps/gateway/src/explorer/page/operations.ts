import { isRecord } from './reply-envelope.ts';

/** An operation of the OpenAPI document, as the form needs it. */
export interface Operation {
  /** `device.list` */
  readonly id: string;
  readonly group: string;
  readonly title: string;
  readonly description: string;
  /** In upper case. */
  readonly method: string;
  /** `/api/v1/device/{deviceId}` */
  readonly path: string;
  /** Those in the path and in the query. */
  readonly parameters: readonly OperationParameter[];
  /** An example of the JSON body. Undefined: the operation accepts no body. */
  readonly body: string | undefined;
}

export interface OperationParameter {
  readonly name: string;
  readonly place: 'path' | 'query';
  readonly description: string;
}

const methods = ['get', 'post', 'patch', 'put', 'delete'];

/** The operations that need a credential, each with its preferred route. */
export async function loadOperations(): Promise<readonly Operation[]> {
  const response = await fetch('explorer/openapi.json', { credentials: 'omit' });
  if (!response.ok) {
    throw new Error(`The gateway replied with ${response.status} to explorer/openapi.json.`);
  }
  return readOperations(await response.json());
}

/** Equivalent routes are deprecated. Public documents need no credential. */
export function readOperations(document: unknown): readonly Operation[] {
  const groups = entriesOf(at(document, 'tags')).map(([, tag]) => textAt(tag, 'name'));
  const operations = entriesOf(at(document, 'paths')).flatMap(([path, item]) =>
    entriesOf(item).flatMap(([method, operation]) => {
      const needsCredential = at(operation, 'security', '0') !== undefined;
      return methods.includes(method) && needsCredential && at(operation, 'deprecated') !== true
        ? [readOperation(document, { path, method, operation })]
        : [];
    }),
  );
  return operations.sort((one, other) => groups.indexOf(one.group) - groups.indexOf(other.group));
}

function readOperation(
  document: unknown,
  route: { readonly path: string; readonly method: string; readonly operation: unknown },
): Operation {
  const { path, method, operation } = route;
  const content = at(operation, 'requestBody', 'content', 'application/json');
  return {
    id: textAt(operation, 'operationId'),
    group: textAt(operation, 'tags', '0'),
    title: textAt(operation, 'summary'),
    description: textAt(operation, 'description'),
    method: method.toUpperCase(),
    path,
    parameters: entriesOf(at(operation, 'parameters')).flatMap(([, parameter]) =>
      readParameter(resolve(document, parameter)),
    ),
    body: content === undefined ? undefined : JSON.stringify(at(content, 'example') ?? {}, null, 2),
  };
}

function readParameter(parameter: unknown): readonly OperationParameter[] {
  const place = at(parameter, 'in');
  return place === 'path' || place === 'query'
    ? [{ name: textAt(parameter, 'name'), place, description: textAt(parameter, 'description') }]
    : [];
}

function resolve(document: unknown, value: unknown): unknown {
  const reference = at(value, '$ref');
  return typeof reference === 'string' ? at(document, ...reference.split('/').slice(1)) : value;
}

function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (found, key) =>
      (isRecord(found) || Array.isArray(found)) && Object.hasOwn(found, key)
        ? (found as Record<string, unknown>)[key]
        : undefined,
    value,
  );
}

function textAt(value: unknown, ...path: readonly string[]): string {
  const text = at(value, ...path);
  return typeof text === 'string' ? text : '';
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}
