import type { ApiRequest } from './api-request.ts';
import { InputProblem } from './credential.ts';
import { element, find, show, withQuotes } from './elements.ts';
import type { Operation, OperationParameter } from './operations.ts';

export interface OperationForm {
  /** @throws InputProblem */
  read(): ApiRequest;
  /** The id of the chosen operation. */
  chosen(): string;
  choose(id: string): void;
}

const JSON_TYPE = 'application/json';

/** The choice of an operation, and a field for each of its parameters. */
export function createOperationForm(
  operations: readonly Operation[],
  onChange: () => void,
): OperationForm {
  const choice = find('operation', HTMLSelectElement);
  choice.append(...groupsOf(operations));
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
    read: () => readRequest(current()),
    chosen: () => choice.value,
    choose(id) {
      if (operations.some((operation) => operation.id === id)) {
        choice.value = id;
        showFields();
      }
    },
  };
}

function groupsOf(operations: readonly Operation[]): readonly HTMLElement[] {
  const groups = Map.groupBy(operations, ({ group }) => group);
  return [...groups].map(([label, members]) =>
    element(
      'optgroup',
      { label },
      ...members.map(({ id, title }) => element('option', { value: id }, `${title} (${id})`)),
    ),
  );
}

/** The parameters of the query are optional, and there are many. */
function parameterFields(parameters: readonly OperationParameter[]): readonly HTMLElement[] {
  const { path = [], query = [] } = Object.groupBy(parameters, ({ place }) => place);
  const summary = element('summary', {}, `Query parameters (${query.length})`);
  return [
    ...path.flatMap(fieldOf),
    ...(query.length === 0 ? [] : [element('details', {}, summary, ...query.flatMap(fieldOf))]),
  ];
}

function fieldOf({ name, place, description }: OperationParameter): readonly HTMLElement[] {
  const id = fieldId({ name, place });
  const note = place === 'path' ? 'required' : 'optional';
  return [
    element('label', { for: id }, name, element('span', { class: 'note' }, ` ${note}`)),
    element('input', {
      id,
      type: 'text',
      autocomplete: 'off',
      spellcheck: 'false',
      autocapitalize: 'none',
      'aria-describedby': `${id}-hint`,
      ...(place === 'path' && { required: '' }),
    }),
    element('p', { id: `${id}-hint`, class: 'hint' }, withQuotes(description)),
  ];
}

function bodyField(example: string): readonly HTMLElement[] {
  const text = element('textarea', { id: 'body', class: 'mono', rows: '9', spellcheck: 'false' });
  text.value = example;
  return [
    element('label', { for: 'body' }, 'Body', element('span', { class: 'note' }, ' JSON')),
    text,
  ];
}

function readRequest({ method, path, parameters, body }: Operation): ApiRequest {
  const names = (place: OperationParameter['place']) =>
    parameters.filter((parameter) => parameter.place === place);
  const filled = names('path').reduce((text, parameter) => {
    const value = enteredValue(parameter);
    if (value === '' || value === '.' || value === '..') {
      throw new InputProblem(fieldId(parameter), `Enter a value for ${parameter.name}.`);
    }
    return text.replace(`{${parameter.name}}`, () => encodeURIComponent(value));
  }, path);
  const query = names('query')
    .map((parameter) => [parameter.name, enteredValue(parameter)] as const)
    .filter(([, value]) => value !== '')
    .map((pair) => pair.map(encodeURIComponent).join('='))
    .join('&');
  const text = body === undefined ? '' : checked('body', find('body', HTMLTextAreaElement).value);
  return {
    method,
    path: filled,
    query,
    contentType: text === '' ? '' : JSON_TYPE,
    body: text === '' ? undefined : text,
  };
}

function enteredValue(parameter: Pick<OperationParameter, 'name' | 'place'>): string {
  const id = fieldId(parameter);
  return checked(id, find(id, HTMLInputElement).value);
}

function fieldId({ name, place }: Pick<OperationParameter, 'name' | 'place'>): string {
  return `${place}-${name}`;
}

/** JSON needs no raw control characters. In a copied call, a terminal would interpret them. */
function checked(field: string, value: string): string {
  if (/[^\P{Cc}\n\t]/u.test(value) || !value.isWellFormed()) {
    throw new InputProblem(field, 'Write control characters as JSON escapes, such as \\u0007.');
  }
  return value;
}
