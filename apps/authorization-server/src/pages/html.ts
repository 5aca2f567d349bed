/** Text that is already markup. All other text is escaped. */
export class Html {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }
}

type Part = string | Html | readonly Html[] | undefined;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Markup with every value escaped for text and quoted attributes. Attributes must be quoted. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(
    strings.reduce((markup, literal, i) => `${markup}${literal}${toMarkup(parts[i])}`, ''),
  );
}

/** A sentence with `{name}` placeholders, as markup. The sentence itself is escaped as well. */
export function sentence(text: string, values: Readonly<Record<string, string | Html>>): Html {
  const parts = text.split(/\{(\w+)\}/);
  const markup = parts.map((part, i) => toMarkup(i % 2 === 0 ? part : (values[part] ?? '')));
  return new Html(markup.join(''));
}

function toMarkup(part: Part): string {
  if (part === undefined) {
    return '';
  }
  if (part instanceof Html) {
    return part.markup;
  }
  if (typeof part === 'string') {
    return part.replace(/[&<>"']/g, (character) => entities[character] ?? '');
  }
  return part.map((element) => element.markup).join('');
}
