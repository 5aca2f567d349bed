/**
 * The shape of a screen. A screen is one file in pages/, and a line in the list of pages/index.ts:
 *
 *   export const organization = screen({
 *     path: '/organizations/:id',                  // exact: no trailing slash
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
import type { Link } from '../view/layout.ts';
import type { Place } from '../view/parts.ts';
import type { Texts } from '../view/texts-en.ts';

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

export interface Act<Fields = unknown, Preview = unknown> {
  /** Of the form, or of the URL of the confirmation. Values are text. */
  readonly fields: z.ZodType<Fields>;
  /** The effect. Without one, the act destroys nothing. @throws OperatorError, as `run` would */
  readonly preview?: (fields: Fields, visit: Visit) => Promise<Preview>;
  readonly confirm?: (preview: Preview, visit: Visit) => Confirmation;
  /** @throws OperatorError */
  readonly run: (fields: Fields, visit: Visit) => Promise<Outcome>;
}

export interface Screen<Query = unknown, Data = unknown> {
  readonly path: `/${string}`;
  /** Only for operators who may change something. All may read the others. */
  readonly needsWrite?: true;
  /** A value that it rejects counts as absent, so an old link still opens. By default, none. */
  readonly query?: z.ZodType<Query>;
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

/** The frame passes what `preview` returns to `confirm`, and does not know its type. */
export const act = <Fields, Preview>(definition: Act<Fields, Preview>) => definition as Act;

/** The frame passes what `load` returns to the others, and does not know its type. */
export const screen = <Query, Data>(definition: Screen<Query, Data>) =>
  definition as unknown as Screen;
