/** One member of the settings: its value as JSON, and its change with a preview of before and after. */
import { invalidInput, OperatorError, settingsMember } from '@gatehouse/operators';
import { fill, html } from '@gatehouse/server';
import { z } from 'zod';
import { act, type Confirmation, type Screen, screen, type Visit } from '../frame/screen.ts';
import { actForm } from '../view/forms.ts';
import { card, lines } from '../view/parts.ts';
import { changeList } from './audit.ts';
import { MEMBER_PATH, SETTINGS_PATH } from './settings.ts';

const fields = z.object({ value: z.string(), version: z.string() });
type Fields = z.output<typeof fields>;

export const settingsMemberScreen: Screen = screen({
  path: MEMBER_PATH,
  async load({ operators, parameters }) {
    const { success, data: member } = settingsMember.safeParse(parameters.member);
    if (!success) {
      return undefined;
    }
    const { settings } = await operators.settings.read();
    return { member, value: settings[member], version: settings.version };
  },
  title: ({ member }) => member,
  trail: (_data, { texts }) => [{ address: SETTINGS_PATH, label: texts.settings.title }],
  view({ member, value, version }, visit) {
    const { settings: texts, common } = visit.texts;
    const text = JSON.stringify(value, undefined, 2) ?? '';
    const form = actForm(visit, {
      act: 'propose',
      fields: [
        {
          name: 'value',
          label: texts.value,
          value: text,
          hint: member === 'upstreams' ? `${texts.valueHint} ${texts.secretHint}` : texts.valueHint,
          rows: Math.max(6, text.split('\n').length + 2),
        },
      ],
      hidden: { version },
      button: texts.preview,
    });
    return html`<p class="lead">${texts.meanings[member]}</p>
${card(texts.value, form === undefined ? html`<pre translate="no">${text || common.none}</pre>` : html`<div class="code">${form}</div>`)}`;
  },
  acts: {
    /** Changes nothing. The page that it shows has the form of the change. */
    propose: act({
      fields,
      async run(given, visit) {
        const { title, effect, button } = confirmation(await changesOf(given, visit), visit);
        const { path, texts } = visit;
        const cancel = html`<a class="button" href="${path}">${texts.frame.cancel}</a>`;
        return {
          title,
          content: html`<section class="card confirm">${effect}
${actForm(visit, { act: 'change', hidden: given, button, next: cancel })}</section>`,
        };
      },
    }),
    change: act({
      fields,
      preview: changesOf,
      confirm: confirmation,
      async run({ value, version: ifVersion }, { operators, operator, parameters }) {
        const member = memberOf(parameters);
        await operators.settings.change(operator, member, typedValue(value), { ifVersion });
        return { to: SETTINGS_PATH, notice: 'saved' };
      },
    }),
  },
});

/** @throws OperatorError */
function memberOf({ member }: Visit['parameters']) {
  const { data } = settingsMember.safeParse(member);
  if (data === undefined) {
    throw new OperatorError('not_found');
  }
  return data;
}

async function changesOf({ value }: Fields, { operators, parameters }: Visit) {
  const member = memberOf(parameters);
  const { changes } = await operators.settings.previewChange(member, typedValue(value));
  return { member, changes };
}

function confirmation(
  { member, changes }: Awaited<ReturnType<typeof changesOf>>,
  { texts: { settings: texts, common } }: Visit,
): Confirmation {
  const isSame = changes.length === 0;
  return {
    title: fill(texts.changeTitle, { member }),
    effect: html`<p>${isSame ? texts.noChange : texts.changeEffect}</p>
${lines(changeList(changes))}`,
    button: common.save,
  };
}

/**
 * The JSON that was typed. Empty: null, which removes the member. A page, an address and a browser
 * would keep a client secret, so it is not entered here.
 *
 * @throws OperatorError
 */
function typedValue(typed: string): unknown {
  if (typed.trim() === '') {
    return null;
  }
  let value: unknown;
  try {
    value = JSON.parse(typed);
  } catch (error) {
    throw invalidInput('value', `is not JSON: ${(error as Error).message}`);
  }
  if (/"clientSecret"\s*:/.test(JSON.stringify(value))) {
    throw invalidInput(
      'value',
      'must not contain a clientSecret. Set it with gatehouse bootstrap apply',
    );
  }
  return value;
}
