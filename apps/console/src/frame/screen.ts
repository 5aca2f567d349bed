/**
 * The shape of a screen. A screen is one file in pages/, and a line in the list of pages/index.ts:
 *
 *   export const organization = screen({
 *     path: '/organizations/:id',                  // exact: no trailing slash
 *     requires: 'operator:read',
 *     query: z.object({ cursor: z.string().optional() }),   // filters are in the URL
 *     async load({ operators, parameters, query }) { … },   // undefined: 404
 *     title: (data) => data.organization.name,
 *     view: (data, visit) => html`…`,               // parts: view/parts.ts, forms.ts, plots.ts
 *     acts: {
 *       rename: act({ fields, run }),               // POST /organizations/:id/rename
 *       remove: act({ fields, preview, confirm, run }),
 *     },
 *   });
 *
 * An act with a `preview` destroys something. GET /organizations/:id/remove?… shows the effect, its
 * form sends the same fields as POST. Both need a sign-in of the last five minutes. An act that
 * succeeds redirects with a notice, or shows a secret once. An `OperatorError` shows the screen
 * again, with the problem above the form and the values that were typed.
 *
 * serve-screens.ts has the routes, the checks of a request, and the errors.
 */
import type { Operator, Operators } from '@gatehouse/operators';
import type { Html } from '@gatehouse/server';
import type { z } from 'zod';
import type { FormPlace } from '../view/forms.ts';
import type { Place } from '../view/parts.ts';
import type { Texts } from '../view/texts-en.ts';

export type Scope = 'operator:read' | 'operator:write';

/** What a screen knows about the request. */
export interface Visit<Query = unknown> extends FormPlace, Place {
  readonly operators: Operators;
  /** Who acts, for the audit trail. */
  readonly operator: Operator;
  /** The address of the authorization server, for commands that operators copy. */
  readonly issuer: string;
  /** The API explorer of the gateway. Undefined: it is off. */
  readonly explorerUrl: string | undefined;
  /** Of the path, decoded. Empty if it has none with this name. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The parameters of the URL that the screen declares. */
  readonly query: Query;
}

/** What a screen shows after an act. */
export type Outcome =
  | {
      /** A path of the console. By default, that of the screen. */
      readonly to?: string;
      readonly notice?: keyof Texts['notices'];
    }
  /** A page that exists once, such as a new secure key. Browsers do not store it. */
  | { readonly title: string; readonly content: Html };

export interface Confirmation {
  readonly title: string;
  /** The effect, such as "ends 41 tokens of 3 clients". */
  readonly effect: Html;
  /** The label of the button. */
  readonly button: string;
}

interface ActDefinition<Fields, Preview> {
  /** Of the form, or of the URL of the confirmation. Values are text. */
  readonly fields: z.ZodType<Fields>;
  /** The effect. @throws OperatorError, as `run` would */
  readonly preview?: (fields: Fields, visit: Visit) => Promise<Preview>;
  readonly confirm?: (preview: Preview, visit: Visit) => Confirmation;
  /** @throws OperatorError */
  readonly run: (fields: Fields, visit: Visit) => Promise<Outcome>;
}

/** Without the types of its fields and its preview. */
export interface Act {
  readonly fields: z.ZodType<unknown>;
  readonly run: (fields: unknown, visit: Visit) => Promise<Outcome>;
  /** Undefined if the act destroys nothing. */
  readonly confirmation?: (fields: unknown, visit: Visit) => Promise<Confirmation>;
}

export function act<Fields, Preview>({
  fields,
  preview,
  confirm,
  run,
}: ActDefinition<Fields, Preview>): Act {
  return {
    fields,
    run: (values, visit) => run(values as Fields, visit),
    ...(preview &&
      confirm && {
        confirmation: async (values: unknown, visit: Visit) =>
          confirm(await preview(values as Fields, visit), visit),
      }),
  };
}

interface ScreenDefinition<Query, Data> {
  readonly path: `/${string}`;
  readonly requires: Scope;
  /** A value that it rejects counts as absent, so an old link still opens. */
  readonly query: z.ZodType<Query>;
  /** Undefined: there is no such object. @throws OperatorError */
  readonly load: (visit: Visit<Query>) => Promise<Data | undefined>;
  readonly title: (data: Data, visit: Visit<Query>) => string;
  readonly view: (data: Data, visit: Visit<Query>) => Html;
  /** The screens above this one. */
  readonly trail?: (data: Data, visit: Visit<Query>) => readonly Link[];
  /** Buttons next to the title. */
  readonly tools?: (data: Data, visit: Visit<Query>) => Html | undefined;
  readonly acts?: Readonly<Record<string, Act>>;
}

export interface Link {
  readonly address: string;
  readonly label: string;
}

/** What a visit of a screen shows. */
export interface ShownScreen {
  readonly title: string;
  readonly trail: readonly Link[];
  readonly tools: Html | undefined;
  readonly content: Html;
}

/** Without the types of its query and its data. */
export interface Screen {
  readonly path: string;
  readonly requires: Scope;
  readonly acts: Readonly<Record<string, Act>>;
  show(visit: Visit): Promise<ShownScreen | undefined>;
}

export function screen<Query, Data>(definition: ScreenDefinition<Query, Data>): Screen {
  const { path, requires, query, load, title, view, trail, tools, acts = {} } = definition;
  return {
    path,
    requires,
    acts,
    async show(plain) {
      const visit = { ...plain, query: query.parse(acceptedParameters(query, plain.search)) };
      const data = await load(visit);
      return data === undefined
        ? undefined
        : {
            title: title(data, visit),
            trail: trail?.(data, visit) ?? [],
            tools: tools?.(data, visit),
            content: view(data, visit),
          };
    },
  };
}

/** Omits each parameter that the schema rejects. Empty fields of a filter count as absent. */
function acceptedParameters(schema: z.ZodType, search: URLSearchParams) {
  const given = Object.fromEntries([...search].filter(([, value]) => value !== ''));
  const { error } = schema.safeParse(given);
  const rejected = new Set(error?.issues.map(({ path }) => path[0]));
  return Object.fromEntries(Object.entries(given).filter(([name]) => !rejected.has(name)));
}
