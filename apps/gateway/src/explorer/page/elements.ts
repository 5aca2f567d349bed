/** Creates an element. Texts become text nodes, so that no value can become markup. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    created.setAttribute(name, value);
  }
  created.append(...children);
  return created;
}

/** An element of index.html. */
export function find<Type extends HTMLElement>(id: string, type: new () => Type): Type {
  const found = document.getElementById(id);
  if (!(found instanceof type)) {
    throw new Error(`The page has no element ${id}.`);
  }
  return found;
}

/** Shows the children in the place of the earlier ones. */
export function show(id: string, ...children: readonly (Node | string)[]): void {
  find(id, HTMLElement).replaceChildren(...children);
}
