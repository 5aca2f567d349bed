type Child = Node | string | undefined;

/** A problem that the developer can correct in the form. */
export class InputProblem extends Error {
  /** The id of the field. */
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

/** Creates an element. Texts become text nodes, so that no value can become markup. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    created.setAttribute(name, value);
  }
  created.append(...children.filter((child) => child !== undefined));
  return created;
}

/** Replaces the Markdown of a name by quotation marks. */
export function withQuotes(text: string): string {
  return text.replaceAll(/`([^`]*)`/g, '“$1”');
}

/** An element of index.html. */
export function find<Type extends HTMLElement>(id: string, type: new () => Type): Type {
  const found = document.getElementById(id);
  if (!(found instanceof type)) {
    throw new Error(`The page has no element ${id}.`);
  }
  return found;
}

/** Shows the elements in the place of the earlier ones. */
export function show(id: string, ...children: readonly Child[]): void {
  find(id, HTMLElement).replaceChildren(...children.filter((child) => child !== undefined));
}

export async function loadJson<Document>(path: string): Promise<Document> {
  const response = await fetch(path, { credentials: 'omit' });
  if (!response.ok) {
    throw new Error(`The gateway replied with ${response.status} to ${path}.`);
  }
  return response.json();
}
