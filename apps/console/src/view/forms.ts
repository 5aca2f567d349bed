/** Forms: filters in the URL, and acts with the token of the session and the values of a rejected try. */
import type { IllegalArgument } from '@gatehouse/errors';
import { type Html, html } from '@gatehouse/server';
import type { Place } from './parts.ts';

/** What forms need of a visit. */
export interface FormPlace {
  /** Of the screen, encoded. The path of an act follows it. */
  readonly path: string;
  /** Belongs to the session. Every form that is posted has it. */
  readonly formToken: string;
  /** Without `operator:write`, the screen shows no form that changes something. */
  readonly mayWrite: boolean;
  /** The form that was posted and rejected. */
  readonly attempt?: Attempt | undefined;
}

export interface Attempt {
  readonly act: string;
  readonly values: Readonly<Record<string, string>>;
  readonly message: string;
  readonly problems: readonly IllegalArgument[];
}

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly value?: string | undefined;
  readonly hint?: string;
  readonly required?: boolean;
  readonly type?: 'text' | 'search' | 'email' | 'number' | 'url' | 'datetime-local';
  /** A list to choose from. */
  readonly options?: readonly { readonly value: string; readonly label: string }[];
  /** More than one line. */
  readonly rows?: number;
  /** A page never shows what was typed, not even after a rejected try. */
  readonly isSecret?: true;
}

/** A list with filters has them in the URL, so that a view can be sent to a colleague. */
export function filterForm(
  { texts, path, search }: Place,
  fields: readonly Field[],
  button = texts.frame.applyFilter,
): Html {
  const isFiltered = fields.some(({ name }) => (search.get(name) ?? '') !== '');
  const tab = search.get('tab');
  return html`<form class="filter" method="get" action="${path}" role="search">
${tab === null ? undefined : html`<input type="hidden" name="tab" value="${tab}">`}
${fields.map((field) =>
  formField({ value: search.get(field.name) ?? '', ...field }, `filter-${field.name}`),
)}
<div class="actions"><button type="submit">${button}</button>
${isFiltered ? html`<a class="button plain" href="${path}">${texts.frame.clearFilter}</a>` : undefined}</div>
</form>`;
}

/**
 * The form of an act. After a rejected try, it has the problems and the typed values.
 *
 * @param form.hidden what the act needs in addition, such as the version that the operator saw
 */
export function actForm(
  visit: FormPlace,
  form: {
    readonly act: string;
    readonly fields?: readonly Field[];
    readonly hidden?: Readonly<Record<string, string>>;
    readonly button: string;
    readonly isPrimary?: boolean;
    /** Follows the button. */
    readonly next?: Html;
  },
): Html | undefined {
  if (!visit.mayWrite) {
    return undefined;
  }
  const { act, fields = [], hidden = {}, button, isPrimary = true, next } = form;
  const attempt = visit.attempt?.act === act ? visit.attempt : undefined;
  const known = new Set(fields.map(({ name }) => name));
  return html`<form class="act" method="post" action="${visit.path}/${act}">
${attempt && problemNotice(attempt, known)}
<input type="hidden" name="form-token" value="${visit.formToken}">
${Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${fields.map((field) => {
  const typed = attempt?.values[field.name];
  const problem = attempt?.problems.find((each) => fieldOf(each) === field.name)?.message;
  return formField(
    typed === undefined || field.isSecret ? field : { ...field, value: typed },
    `${act}-${field.name}`,
    problem,
  );
})}
<p class="actions"><button type="submit"${isPrimary ? html` class="primary"` : undefined}>${button}</button>${
    next &&
    html`
${next}`
  }</p>
</form>`;
}

/** A problem of the second redirect URI belongs to the field with all of them. */
const fieldOf = ({ property }: IllegalArgument) => property.split('.', 1)[0] ?? '';

/** What no field shows. */
export function problemNotice(
  { message, problems }: Attempt,
  fields: ReadonlySet<string> = new Set(),
): Html | undefined {
  const others = problems.filter((problem) => !fields.has(fieldOf(problem)));
  if (problems.length > 0 && others.length === 0) {
    return undefined;
  }
  const lines = others.map(({ property, message: text }) => html`<li>${property}: ${text}</li>`);
  return html`<div class="problem" role="alert">${lines.length === 0 ? message : html`<ul>${lines}</ul>`}</div>`;
}

function formField(field: Field, id: string, problem?: string): Html {
  const { name, label, value = '', hint, required, type = 'text', options, rows } = field;
  const notes = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(' ');
  const common = html`id="${id}" name="${name}"${required === true ? html` required` : undefined}${
    problem && html` aria-invalid="true"`
  }${notes === '' ? undefined : html` aria-describedby="${notes}"`}`;
  return html`<div class="field">
<label for="${id}">${label}</label>
${
  options !== undefined
    ? html`<select ${common}>${options.map(
        (option) =>
          html`<option value="${option.value}"${option.value === value ? html` selected` : undefined}>${option.label}</option>`,
      )}</select>`
    : rows !== undefined
      ? html`<textarea ${common} rows="${String(rows)}">${value}</textarea>`
      : html`<input ${common} type="${type}" value="${value}" autocomplete="off" spellcheck="false">`
}
${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
${problem && html`<p class="field-problem" id="${id}-problem">${problem}</p>`}
</div>`;
}

/**
 * The link to the page that names what an act destroys.
 *
 * @param form.isDanger false: it has an effect worth a second look, and destroys nothing
 */
export function destroyLink(
  { path, mayWrite }: FormPlace,
  {
    act,
    label,
    fields = {},
    isDanger = true,
  }: {
    readonly act: string;
    readonly label: string;
    readonly isDanger?: boolean;
    readonly fields?: Readonly<Record<string, string>>;
  },
): Html | undefined {
  const query = new URLSearchParams(fields);
  const address = `${path}/${act}${query.size === 0 ? '' : `?${query}`}`;
  return mayWrite
    ? html`<a class="button${isDanger ? ' danger' : ''}" href="${address}">${label}</a>`
    : undefined;
}

/** The values of a filter. The first one is no filter. */
export const choices = <Name extends string>(
  { texts: { common } }: Place,
  names: readonly Name[],
  labelOf: (name: Name) => string = (name) => name,
): NonNullable<Field['options']> => [
  { value: '', label: common.all },
  ...names.map((value) => ({ value, label: labelOf(value) })),
];

/** The filters of a list of clients or users. */
export function memberFilterForm(place: Place, search: string): Html {
  const { common } = place.texts;
  const options = choices(place, ['true'], () => common.disabled);
  return filterForm(place, [
    { name: 'search', label: search, type: 'search' },
    { name: 'orgId', label: common.organization },
    { name: 'disabled', label: common.state, options },
  ]);
}
