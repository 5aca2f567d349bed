/** The parts of which screens consist. forms.ts has forms, plots.ts plots, layout.ts the page around. */
import { CONSOLE_CLIENT_ID } from '@gatehouse/identity';
import { fill, foreignName, type Html, html, plainName } from '@gatehouse/server';
import { addressWith, pathTo } from './addresses.ts';
import type { Texts } from './texts-en.ts';

/** What parts need of a visit. */
export interface Place {
  readonly texts: Texts;
  /** Of the screen, encoded. */
  readonly path: string;
  /** All parameters of the URL. */
  readonly search: URLSearchParams;
  /** Epoch milliseconds. */
  readonly now: number;
}

type Content = string | Html | undefined;

export interface Column<Row> {
  readonly label: string;
  readonly cell: (row: Row) => Content;
  /** Numbers are aligned at their end. */
  readonly isNumber?: boolean;
}

export interface Table<Row> {
  /** For screen readers: the heading above it shows the same. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** The cursor of the next page, in the parameter `cursor` unless `cursorName` is set. */
  readonly next?: string | undefined;
  readonly cursorName?: string | undefined;
  /** What the list would contain, and how it gets its first entry. */
  readonly empty: Content;
}

/** A list with its pages. On a phone, each row is a card. */
export function table<Row>(place: Place, list: Table<Row>): Html {
  const { caption, columns, rows, next, cursorName = 'cursor', empty } = list;
  const isFirst = !place.search.has(cursorName);
  if (rows.length === 0 && isFirst && next === undefined) {
    return html`<p class="empty">${empty}</p>`;
  }
  const classOf = ({ isNumber }: Column<Row>) =>
    isNumber === true ? html` class="number"` : undefined;
  // A phone shows the cells as blocks, and browsers then forget that this is a table.
  return html`<table role="table">
<caption class="unseen">${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(
    (column) => html`<th role="columnheader" scope="col"${classOf(column)}>${column.label}</th>`,
  )}</tr></thead>
<tbody role="rowgroup">
${rows.map(
  (row) => html`<tr role="row">${columns.map(
    (column) =>
      html`<td role="cell" data-label="${column.label}"${classOf(column)}>${column.cell(row) ?? '–'}</td>`,
  )}</tr>
`,
)}</tbody>
</table>
${pages(place, { cursorName, next })}`;
}

function pages(
  place: Place,
  { cursorName, next }: { readonly cursorName: string; readonly next: string | undefined },
): Html | undefined {
  const { texts, search } = place;
  const first = addressWith(place, { [cursorName]: undefined });
  const isFirst = !search.has(cursorName);
  return isFirst && next === undefined
    ? undefined
    : html`<nav class="pages" aria-label="${texts.frame.pages}">
${isFirst ? undefined : html`<a class="button" href="${first}">${texts.frame.firstPage}</a>`}
${next === undefined ? undefined : html`<a class="button" rel="next" href="${addressWith(place, { [cursorName]: next })}">${texts.frame.nextPage}</a>`}
</nav>`;
}

/** A part of a screen with a heading. */
export function card(title: string, content: Content, tools?: Html): Html {
  return html`<section class="card">
<header><h2>${title}</h2>${tools && html`<div class="tools">${tools}</div>`}</header>
${content}
</section>`;
}

/** A table with its caption as the heading. */
export const tableCard = <Row>(place: Place, list: Table<Row>, tools?: Html): Html =>
  card(list.caption, table(place, list), tools);

/** Facts by name. It omits a fact without a value. */
export function definitions(facts: readonly (readonly [label: string, value: Content])[]): Html {
  const known = facts.filter(([, value]) => value !== undefined);
  return html`<dl class="facts">${known.map(
    ([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

export type Tone = 'good' | 'warning' | 'bad' | 'quiet';

/** A state in a word. Its color is never the only sign. */
export function status(tone: Tone, label: string): Html {
  return html`<span class="status ${tone}">${label}</span>`;
}

/** The views of one object. The current one is in the parameter `tab`; the first one by default. */
export function tabs(
  place: Place,
  label: string,
  entries: readonly { readonly name: string; readonly label: string }[],
): Html {
  const current = place.search.get('tab') ?? entries[0]?.name;
  return html`<nav class="tabs" aria-label="${label}">${entries.map(({ name, label }, index) => {
    const address = `${place.path}${index === 0 ? '' : `?tab=${encodeURIComponent(name)}`}`;
    const here = name === current ? html` aria-current="page"` : undefined;
    return html`<a href="${address}"${here}>${label}</a>`;
  })}</nav>`;
}

export const enabledState = (enabled: boolean, { common }: Texts): Html =>
  enabled ? status('good', common.enabled) : status('quiet', common.disabled);

/** An id or another name that no language translates. */
export const code = (text: string): Html => html`<code translate="no">${text}</code>`;

/** A fact with a less important one below it. */
export const entry = (content: Content, note: Content): Html =>
  html`<div class="entry">${content}${note && html`<small>${note}</small>`}</div>`;

/** Facts of one kind, below each other. */
export const lines = (items: readonly Html[]): Html | undefined =>
  items.length === 0
    ? undefined
    : html`<div class="entry">${items.map((item) => html`<div>${item}</div>`)}</div>`;

const linkTo = (pattern: string, id: string, name: string | undefined, short = id): Html =>
  html`<a href="${pathTo(pattern, { id })}" title="${plainName(id)}">${name === undefined ? code(plainName(short)) : foreignName(name)}</a>`;

/** Only the console has a screen among the clients that are part of Gatehouse. */
export const clientLink = (id: string, name?: string): Html =>
  id.startsWith('gatehouse:') && id !== CONSOLE_CLIENT_ID
    ? code(plainName(id))
    : linkTo('/clients/:id', id, name);

export const organizationLink = (id: string): Html => linkTo('/organizations/:id', id, undefined);

/** @param id without a name, its beginning is shown */
export const userLink = (id: string, name?: string): Html =>
  linkTo('/users/:id', id, name, `${id.slice(0, 8)}…`);

/** The most important numbers of a screen, each with a note below it. */
export const figures = (
  facts: readonly (readonly [label: string, value: Content, note?: string | undefined])[],
): Html =>
  html`<dl class="figures">${facts.map(
    ([label, value, note]) =>
      html`<div><dt>${label}</dt><dd>${value}${note && html`<small>${note}</small>`}</dd></div>`,
  )}</dl>`;

/** An id or a command that operators copy. Without script, they select it. */
export function copyable(text: string, { copy, copied }: Texts['frame']): Html {
  return html`<span class="copyable">${code(text)}<button type="button" data-copied="${copied}" hidden>${copy}</button></span>`;
}

/** A command of several lines, with a button to copy it. */
export const commandBlock = (command: string, { frame }: Texts): Html =>
  html`<div class="shell"><pre translate="no">${command}</pre><button type="button" data-copied="${frame.copied}" hidden>${frame.copy}</button></div>`;

/** A region that the script loads again. Its content must not depend on scroll or focus. */
export function live(name: string, seconds: number, content: Html): Html {
  return html`<div id="live-${name}" data-live="${String(seconds)}">${content}</div>`;
}

const DAY = 86_400_000;
const units = [
  ['day', DAY],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** How long ago, or the day. The title has the exact time. @param at epoch milliseconds or ISO 8601 */
export function time(at: number | string, { texts, now }: Pick<Place, 'texts' | 'now'>): Html {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) {
    return html`${String(at)}`;
  }
  const iso = date.toISOString();
  return html`<time datetime="${iso}" title="${iso}">${timeInWords(date.getTime(), now, texts)}</time>`;
}

/** As `time`, or that there was none. @param at epoch seconds */
export const lastTime = (at: number | undefined, place: Pick<Place, 'texts' | 'now'>): Html =>
  at === undefined ? html`${place.texts.common.never}` : time(at * 1000, place);

function timeInWords(at: number, now: number, { language }: Texts): string {
  const ahead = at - now;
  const distance = Math.abs(ahead);
  if (distance >= 7 * DAY) {
    const format = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: 'UTC' });
    return format.format(at);
  }
  const [unit, size] = units.find(([, each]) => distance >= each) ?? (['second', 1000] as const);
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  return format.format(Math.trunc(ahead / size), unit);
}

export function number(value: number, { language }: Texts, digits = 0): string {
  return new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(value);
}

/** A duration in milliseconds. */
export const duration = (milliseconds: number, texts: Texts): string =>
  `${number(milliseconds, texts, milliseconds < 10 ? 1 : 0)} ms`;

export const percent = (share: number, { language }: Texts): string =>
  new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 }).format(share);

/** `counted(41, texts, texts.counts.tokens)`, whose texts have `{count}`. */
export function counted(
  count: number,
  texts: Texts,
  forms: { readonly one: string; readonly other: string },
): string {
  const form =
    new Intl.PluralRules(texts.language).select(count) === 'one' ? forms.one : forms.other;
  return fill(form, { count: number(count, texts) });
}
