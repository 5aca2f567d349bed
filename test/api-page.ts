import { readApiDocument } from './api-document.ts';
import { apiPageTexts } from './api-page-texts.ts';
import { memberRows, nameOf, type Schema, typeOf } from './api-schema-text.ts';

export const apiPagePath = 'docs/api.md';

const LINE_CHARACTERS = 100;

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Schema[];
  readonly requestBody?: Schema;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly responses: Readonly<Record<string, Schema>>;
}

interface Content {
  readonly required?: boolean;
  readonly content: {
    readonly 'application/json': { readonly schema: Schema; readonly example?: unknown };
  };
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description: string;
  readonly schema: Schema;
}

interface Components {
  readonly securitySchemes: Readonly<
    Record<string, { readonly name?: string; readonly description: string }>
  >;
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly requestBodies: Readonly<Record<string, Content>>;
  readonly responses: Readonly<Record<string, Content>>;
  readonly schemas: Readonly<Record<string, Schema>>;
}

interface Route {
  readonly call: string;
  readonly operation: Operation;
}

/** The whole page, written from the OpenAPI document. */
export async function apiPage(): Promise<string> {
  const document = await readApiDocument('example.com');
  const components = document.components as unknown as Components;
  const routes = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      call: `${method.toUpperCase()} ${path}`,
      operation: operation as unknown as Operation,
    })),
  );
  const groups = document.tags.map(({ name, description }) => {
    const ofGroup = routes.filter(({ operation }) => operation.tags[0] === name);
    return [`## ${name}`, String(description), ...describeGroup(ofGroup, components)].join('\n\n');
  });
  const parts = [
    apiPageTexts.introduction,
    apiPageTexts.generate,
    apiPageTexts.authentication,
    table(['Scheme', 'Header', 'Meaning'], schemeRows(components)),
    ...groups,
    apiPageTexts.parameters,
    table(['Parameter', 'In', 'Type', 'Meaning'], parameterRows(components)),
    apiPageTexts.errors,
    apiPageTexts.replies,
    ...Object.entries(components.schemas).map((schema) => describeSchema(schema, components)),
  ];
  return `${parts.join('\n\n')}\n`;
}

function schemeRows({ securitySchemes }: Components): readonly string[] {
  return Object.entries(securitySchemes).map(
    ([scheme, { name = 'Authorization', description }]) =>
      `| \`${scheme}\` | \`${name}\` | ${description} |`,
  );
}

/** Each operation with its first route, and the other routes below it. */
function describeGroup(routes: readonly Route[], components: Components): readonly string[] {
  const byOperation = Map.groupBy(routes, ({ operation }) => successOf(operation));
  return [...byOperation.values()].flatMap(([first, ...equivalent]) =>
    first === undefined ? [] : [describeOperation(first, equivalent, components)],
  );
}

/** Equivalent routes have the same response. A public document has its own. */
function successOf({ operationId, responses }: Operation): string {
  return responses[200]?.$ref ?? operationId;
}

function describeOperation(
  { call, operation }: Route,
  equivalent: readonly Route[],
  components: Components,
): string {
  const { operationId, summary, description, requestBody, responses } = operation;
  const body = components.requestBodies[nameOf(requestBody ?? {})];
  const success = components.responses[nameOf(responses[200] ?? {})];
  const statuses = Object.keys(responses).filter((status) => /^[45]/.test(status));
  const named = new Set(
    [operation, ...equivalent.map((route) => route.operation)].flatMap((each) =>
      (each.parameters ?? []).map(nameOf),
    ),
  );
  return [
    `### \`${operationId}\``,
    wrapped([`${summary}.`, ...(description === undefined ? [] : [description])].join(' ')),
    [
      `- **Call:** \`${call}\``,
      ...list(
        'Equivalent',
        equivalent.map((route) => `\`${route.call}\``),
      ),
      ...credentialLines(operation),
      ...(named.size === 0
        ? []
        : [
            wrapped(
              `- **Parameters:** ${[...named].map((name) => `\`${name}\``).join(', ')}`,
              '  ',
            ),
          ]),
      ...(body === undefined ? [] : [`- **Body:** ${describeBody(body)}`]),
      ...(success === undefined ? [] : [`- **Reply:** ${describeReply(success)}`]),
      ...list('Other members of the reply', otherMembers(success)),
      `- **Errors:** ${statuses.join(', ')}`,
    ].join('\n'),
    ...(body === undefined ? [] : [block(body.content['application/json'].example)]),
  ].join('\n\n');
}

/** The scope, or the credentials of an operation that does not accept all of them. */
function credentialLines({ security }: Operation): readonly string[] {
  const scopes = security.flatMap(({ accessToken = [] }) => accessToken);
  if (scopes.length > 0) {
    return [`- **Scope:** \`${scopes.join(' ')}\``];
  }
  const accepted = security.map((alternative) =>
    Object.keys(alternative)
      .map((name) => `\`${name}\``)
      .join(' + '),
  );
  return list('Credential', accepted.length === 0 ? ['none'] : accepted);
}

function list(name: string, items: readonly string[]): readonly string[] {
  return items.length === 0 ? [] : [`- **${name}:**`, ...items.map((item) => `  - ${item}`)];
}

function describeBody({ content, required }: Content): string {
  const { schema } = content['application/json'];
  const members = memberItems(schema.properties ?? {}).map((item) => `\n  - ${item}`);
  return [typeOf(schema) + (required === true ? '' : ' (optional)'), ...members].join('');
}

function describeReply({ content }: Content): string {
  const { result } = content['application/json'].schema.properties ?? {};
  if (result === undefined) {
    return 'no `result`';
  }
  const { description } = result;
  return description === undefined ? typeOf(result) : `${typeOf(result)}. ${description}`;
}

const envelopeMembers = ['status', 'code', 'message', 'result', 'timestamp'];

function otherMembers(success: Content | undefined): readonly string[] {
  const members = success?.content['application/json'].schema.properties ?? {};
  return memberItems(
    Object.fromEntries(Object.entries(members).filter(([name]) => !envelopeMembers.includes(name))),
  );
}

function memberItems(members: Readonly<Record<string, Schema>>): readonly string[] {
  return Object.entries(members).map(
    ([name, schema]) => `\`${name}\` (${typeOf(schema)}): ${schema.description ?? ''}`,
  );
}

function block(value: unknown): string {
  return ['```json', JSON.stringify(value, undefined, 2), '```'].join('\n');
}

function parameterRows({ parameters }: Components): readonly string[] {
  return Object.values(parameters).map(
    ({ name, in: place, schema, description }) =>
      `| \`${name}\` | ${place} | ${typeOf(schema)} | ${description} |`,
  );
}

function describeSchema(
  [name, schema]: readonly [string, Schema],
  { responses }: Components,
): string {
  const rows = memberRows(schema);
  const shown = Object.values(responses)
    .map(({ content }) => content['application/json'])
    .find((success) => nameOf(success.schema.properties?.result ?? {}) === name);
  return [
    `### ${name}`,
    ...(schema.description === undefined ? [] : [wrapped(schema.description)]),
    ...(rows.length === 0 ? [`${typeOf(schema)}.`] : [memberTable(rows)]),
    ...(schema.anyOf ?? [])
      .map(memberRows)
      .filter((members) => members.length > 0)
      .flatMap((members) => ['The object has these members:', memberTable(members)]),
    ...(shown === undefined ? [] : [block(Reflect.get(shown.example as object, 'result'))]),
  ].join('\n\n');
}

function memberTable(rows: readonly string[]): string {
  return table(['Member', 'Type', 'Required', 'Meaning'], rows);
}

function table(columns: readonly string[], rows: readonly string[]): string {
  const head = `| ${columns.join(' | ')} |`;
  const line = `|${columns.map(() => '---').join('|')}|`;
  return [head, line, ...rows].join('\n');
}

/** @param indent of every line but the first */
function wrapped(text: string, indent = ''): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line === '') {
      lines[lines.length - 1] = word;
    } else if (line.length + 1 + word.length > LINE_CHARACTERS) {
      lines.push(indent + word);
    } else {
      lines[lines.length - 1] = `${line} ${word}`;
    }
  }
  return lines.join('\n');
}
