/** The operations of `/openapi.json`, and a form with a field for each parameter. */
import { element, find, show } from './elements.ts';

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

/** The part of the OpenAPI document that the page needs. The gateway created it. */
export interface ApiDocument {
  readonly servers: readonly [{ readonly url: string }];
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: {
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly securitySchemes: { readonly accessToken: { readonly flows: Flows } };
  };
}

type Flows = Readonly<
  Record<'authorizationCode', Readonly<Record<'authorizationUrl' | 'tokenUrl', string>>>
>;

interface ApiOperation {
  readonly operationId: string;
  readonly tags: readonly [string];
  readonly summary: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly security: readonly object[];
  readonly parameters?: readonly { readonly $ref: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { example?: unknown }>> };
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description: string;
}

const JSON_TYPE = 'application/json';

/** Shows the operations that need a credential, each with its preferred route. */
export function createOperationForm({ paths, components }: ApiDocument, onChange: () => void) {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { security, deprecated }]) => security.length > 0 && deprecated !== true)
      .map(([method, { parameters = [], ...operation }]) => ({
        ...operation,
        method: method.toUpperCase(),
        path,
        parameters: parameters.flatMap(
          ({ $ref }) => components.parameters[$ref.split('/').at(-1) ?? ''] ?? [],
        ),
        /** Undefined: the operation accepts no body. */
        body: operation.requestBody?.content[JSON_TYPE],
      })),
  );
  const choice = find('operation', HTMLSelectElement);
  for (const [label, members] of Map.groupBy(operations, ({ tags }) => tags[0])) {
    const options = members.map(({ operationId, summary }) =>
      element('option', { value: operationId }, `${summary} (${operationId})`),
    );
    choice.append(element('optgroup', { label }, ...options));
  }

  function current() {
    const operation = operations.find(({ operationId }) => operationId === choice.value);
    if (operation === undefined) {
      throw new Error('Choose an operation.');
    }
    return operation;
  }

  function showFields(): void {
    const { method, path, description = '', parameters, body } = current();
    show('route', element('span', { class: 'method' }, method), ` ${path}`);
    show('description', description);
    for (const place of ['path', 'query']) {
      const shown = parameters.filter((parameter) => parameter.in === place);
      show(`${place}-parameters`, ...shown.flatMap(fieldOf));
    }
    find('body-field', HTMLElement).hidden = body === undefined;
    const example = body === undefined ? '' : JSON.stringify(body.example ?? {}, null, 2);
    find('body', HTMLTextAreaElement).value = example;
  }

  choice.addEventListener('change', () => {
    showFields();
    onChange();
  });
  return {
    /**
     * An unknown id chooses the first operation.
     *
     * @param link names an operation, and values for its path: `operation=device.detail&deviceId=…`.
     *   Anyone can write a link, so it chooses only what reads, and nothing is sent
     */
    choose(id: string | undefined, link: URLSearchParams): void {
      const linked = operations.find(
        ({ method, operationId }) => method === 'GET' && operationId === link.get('operation'),
      );
      choice.value = id ?? linked?.operationId ?? '';
      choice.selectedIndex = Math.max(0, choice.selectedIndex);
      showFields();
      for (const parameter of current() === linked ? linked.parameters : []) {
        if (parameter.in === 'path') {
          find(fieldId(parameter), HTMLInputElement).value = link.get(parameter.name) ?? '';
        }
      }
    },
    /** The request with the values of the form. */
    read(values: FormData): ApiRequest {
      const { method, path, parameters } = current();
      let filled = path;
      const pairs: string[] = [];
      for (const parameter of parameters) {
        const value = encodeURIComponent(String(values.get(fieldId(parameter)) ?? ''));
        if (parameter.in === 'path') {
          filled = filled.replace(`{${parameter.name}}`, () => value);
        } else if (value !== '') {
          pairs.push(`${encodeURIComponent(parameter.name)}=${value}`);
        }
      }
      const body = String(values.get('body'));
      const contentType = body === '' ? '' : JSON_TYPE;
      return { method, path: filled, query: pairs.join('&'), contentType, body };
    },
  };
}

/** A dot segment in the path would change the operation. */
function fieldOf(parameter: Parameter): readonly HTMLElement[] {
  const id = fieldId(parameter);
  const isRequired = parameter.in === 'path';
  const note = element('span', { class: 'note' }, isRequired ? ' required' : ' optional');
  const input = element('input', {
    ...{ id, name: id, type: 'text', spellcheck: 'false', autocapitalize: 'none' },
    'aria-describedby': `${id}-hint`,
    ...(isRequired && { required: '', pattern: '(?!\\.{1,2}$).*', title: 'Not . or ..' }),
  });
  return [
    element('label', { for: id }, parameter.name, note),
    input,
    element('p', { id: `${id}-hint`, class: 'hint' }, parameter.description),
  ];
}

function fieldId(parameter: Parameter): string {
  return `${parameter.in}-${parameter.name}`;
}
