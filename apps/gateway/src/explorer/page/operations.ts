/** The operations of `/openapi.json`, and a form with a field for each parameter. */
import { element, find, InputProblem, loadJson, show, withQuotes } from './elements.ts';

/** A request as the form describes it, without its credential. */
export interface ApiRequest {
  readonly method: string;
  /** Percent-encoded, without a path of the public URL of the gateway. */
  readonly path: string;
  /** Percent-encoded, without `?`. Empty if absent. */
  readonly query: string;
  /** Empty if there is no body. */
  readonly contentType: string;
  /** Empty if the request has none. */
  readonly body: string;
}

/** The part of the OpenAPI document that the form needs. The gateway created it. */
interface ApiDocument {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> };
}

interface ApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly security: readonly object[];
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { example?: unknown }>> };
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
}

type Operation = ReturnType<typeof readOperations>[number];

const JSON_TYPE = 'application/json';

/** The operations that need a credential, each with its preferred route: the others are deprecated. */
function readOperations({ tags, paths, components }: ApiDocument) {
  const resolve = (given: Parameter | { readonly $ref: string }): Parameter | undefined =>
    '$ref' in given ? components.parameters[given.$ref.split('/').at(-1) ?? ''] : given;
  const groups = tags.map(({ name }) => name);
  return Object.entries(paths)
    .flatMap(([path, item]) =>
      Object.entries(item)
        .filter(([, { security, deprecated }]) => security?.[0] && deprecated !== true)
        .map(([method, operation]) => {
          const content = operation.requestBody?.content[JSON_TYPE];
          return {
            id: operation.operationId,
            group: operation.tags[0] ?? '',
            title: operation.summary,
            description: operation.description ?? '',
            method: method.toUpperCase(),
            path,
            parameters: (operation.parameters ?? [])
              .flatMap((given) => resolve(given) ?? [])
              .filter(({ in: place }) => place === 'path' || place === 'query'),
            /** An example of the JSON body. Undefined: the operation accepts no body. */
            body: content && JSON.stringify(content.example ?? {}, null, 2),
          };
        }),
    )
    .sort((one, other) => groups.indexOf(one.group) - groups.indexOf(other.group));
}

export async function createOperationForm(onChange: () => void) {
  const operations = readOperations(await loadJson<ApiDocument>('explorer/openapi.json'));
  const choice = find('operation', HTMLSelectElement);
  for (const [label, members] of Map.groupBy(operations, ({ group }) => group)) {
    const options = members.map(({ id, title }) =>
      element('option', { value: id }, `${title} (${id})`),
    );
    choice.append(element('optgroup', { label }, ...options));
  }
  choice.addEventListener('change', () => {
    showFields();
    onChange();
  });
  showFields();

  function current(): Operation {
    const operation = operations.find(({ id }) => id === choice.value);
    if (operation === undefined) {
      throw new InputProblem('operation', 'Choose an operation.');
    }
    return operation;
  }

  function showFields(): void {
    const { method, path, description, parameters, body } = current();
    show('route', element('span', { class: 'method' }, method), ` ${path}`);
    show('description', withQuotes(description));
    show('parameters', ...parameterFields(parameters));
    show('body-field', ...(body === undefined ? [] : bodyField(body)));
  }

  return {
    /** @throws InputProblem */
    read: () => readRequest(current()),
    /** The id of the chosen operation. */
    chosen: () => choice.value,
    choose(id: string) {
      if (operations.some((operation) => operation.id === id)) {
        choice.value = id;
        showFields();
      }
    },
  };
}

/** The parameters of the query are optional, and there are many. */
function parameterFields(parameters: readonly Parameter[]): readonly HTMLElement[] {
  const { path = [], query = [] } = Object.groupBy(parameters, ({ in: place }) => place);
  const summary = element('summary', {}, `Query parameters (${query.length})`);
  return [
    ...path.flatMap(fieldOf),
    ...(query.length === 0 ? [] : [element('details', {}, summary, ...query.flatMap(fieldOf))]),
  ];
}

function fieldOf(parameter: Parameter): readonly HTMLElement[] {
  const id = fieldId(parameter);
  const isRequired = parameter.in === 'path';
  const note = element('span', { class: 'note' }, isRequired ? ' required' : ' optional');
  const input = element('input', {
    ...{ id, type: 'text', autocomplete: 'off', spellcheck: 'false', autocapitalize: 'none' },
    'aria-describedby': `${id}-hint`,
    ...(isRequired && { required: '' }),
  });
  const hint = withQuotes(parameter.description ?? '');
  return [
    element('label', { for: id }, parameter.name, note),
    input,
    element('p', { id: `${id}-hint`, class: 'hint' }, hint),
  ];
}

function bodyField(example: string): readonly HTMLElement[] {
  const text = element('textarea', { id: 'body', class: 'mono', rows: '9', spellcheck: 'false' });
  text.value = example;
  const note = element('span', { class: 'note' }, ' JSON');
  return [element('label', { for: 'body' }, 'Body', note), text];
}

function readRequest({ method, path, parameters, body: example }: Operation): ApiRequest {
  let filled = path;
  const pairs: string[] = [];
  for (const parameter of parameters) {
    const { name } = parameter;
    const id = fieldId(parameter);
    const value = checked(id, find(id, HTMLInputElement).value);
    if (parameter.in === 'query' && value !== '') {
      pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
    } else if (parameter.in === 'path') {
      if (value === '' || value === '.' || value === '..') {
        throw new InputProblem(id, `Enter a value for ${name}.`);
      }
      filled = filled.replace(`{${name}}`, () => encodeURIComponent(value));
    }
  }
  const body =
    example === undefined ? '' : checked('body', find('body', HTMLTextAreaElement).value);
  const contentType = body === '' ? '' : JSON_TYPE;
  return { method, path: filled, query: pairs.join('&'), contentType, body };
}

function fieldId(parameter: Parameter): string {
  return `${parameter.in}-${parameter.name}`;
}

/** JSON needs no raw control characters. In a copied call, a terminal would interpret them. */
function checked(field: string, value: string): string {
  if (/[^\P{Cc}\n\t]/u.test(value) || !value.isWellFormed()) {
    throw new InputProblem(field, 'Write control characters as JSON escapes, such as \\u0007.');
  }
  return value;
}
