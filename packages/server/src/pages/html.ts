/** Markup of the pages: escaping, sentences with placeholders, names that strangers chose. */

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

/** As `sentence`, for text that is not markup, such as a title. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}

/**
 * Characters that change the direction of text or are invisible: a name with them can imitate
 * another name.
 */
const DECEIVING = /[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

/** A name that a client or user chose, for a title or an attribute. */
export function plainName(name: string): string {
  return name.replace(DECEIVING, '');
}

/**
 * A name that a client or user chose, within a sentence. Its text direction cannot change the
 * sentence (ASVS 10.7.2).
 */
export function foreignName(name: string): Html {
  return html`<bdi>${plainName(name)}</bdi>`;
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
