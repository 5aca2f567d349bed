/** Acts on the object of a screen: a change, or an end that a page names first. */
import { OperatorError } from '@gatehouse/operators';
import { fill, foreignName, html, plainName, sentence } from '@gatehouse/server';
import { z } from 'zod';
import { type Act, act, type Outcome, type Visit } from '../frame/screen.ts';
import { counted } from '../view/parts.ts';
import type { Texts } from '../view/texts-en.ts';

/** What a screen shows after a change. @param to a path of the console; by default, that of the screen */
export const noting = (notice: keyof Texts['notices'], to?: string) => (): Outcome => ({
  notice,
  ...(to !== undefined && { to }),
});

/** An act without fields. @param run gets the id in the path */
export function changing(run: (visit: Visit, id: string) => Promise<Outcome>): Act {
  return act({
    fields: z.object({}),
    run: (_fields, visit) => run(visit, visit.parameters.id ?? ''),
  });
}

/** What the texts of an act can name: objects, and how many of them end. */
type Named = Readonly<
  Partial<Record<keyof Texts['counts'], number>> &
    Partial<Record<'name' | 'client' | 'scope', string>>
>;

/** An act that takes something away, with what ends as its effect. */
export function ending<Fields>({
  fields,
  texts: textsOf,
  names,
  run,
}: {
  readonly fields: z.ZodType<Fields>;
  readonly texts: (
    texts: Texts,
    fields: Fields,
  ) => Readonly<Record<'button' | 'title' | 'effect', string>>;
  /** The values of the placeholders. @throws OperatorError, as `run` would */
  readonly names: (fields: Fields, visit: Visit, id: string) => Promise<Named>;
  readonly run: (fields: Fields, visit: Visit, id: string) => Promise<Outcome>;
}): Act {
  const idOf = ({ parameters: { id = '' } }: Visit) => id;
  return act({
    fields,
    preview: async (given, visit) => ({ given, named: await names(given, visit, idOf(visit)) }),
    confirm({ given, named }, { texts }) {
      const { button, title, effect } = textsOf(texts, given);
      const shown = Object.entries(named).map(([name, value]) => {
        const { [name as keyof Texts['counts']]: forms } = texts.counts;
        const text = typeof value === 'number' ? counted(value, texts, forms) : plainName(value);
        return [name, text] as const;
      });
      const marked = shown.map(([name, text]) => [
        name,
        html`<strong>${foreignName(text)}</strong>`,
      ]);
      return {
        title: fill(title, Object.fromEntries(shown)),
        effect: html`<p>${sentence(effect, Object.fromEntries(marked))}</p>`,
        button,
      };
    },
    run: (given, visit) => run(given, visit, idOf(visit)),
  });
}

/** For screens on which an object that does not exist is no error. */
export async function orUndefined<Found>(reading: Promise<Found>): Promise<Found | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof OperatorError && error.code === 'not_found') {
      return undefined;
    }
    throw error;
  }
}
