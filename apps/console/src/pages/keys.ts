/** The signing keys with their schedule, and the master key with the progress of a rotation. */

import {
  type MasterKeyState,
  OperatorError,
  type SigningKeyView,
  signingPurpose,
} from '@gatehouse/operators';
import { fill, type Html, html } from '@gatehouse/server';
import { z } from 'zod';
import { act, type Screen, screen, type Visit } from '../frame/screen.ts';
import { destroyLink } from '../view/forms.ts';
import {
  card,
  code,
  copyable,
  counted,
  definitions,
  entry,
  lastTime,
  status,
  type Tone,
  table,
  time,
} from '../view/parts.ts';
import { noting } from './acts.ts';

const tones = { published: 'warning', signing: 'good', retired: 'quiet' } as const satisfies Record<
  SigningKeyView['state'],
  Tone
>;

export const keys: Screen = screen({
  path: '/keys',
  query: z.object({ count: z.literal('1').optional() }),
  async load({ operators: { signingKeys, installation }, query: { count } }) {
    const [found, masterKey] = await Promise.all([
      signingKeys.list(),
      installation.masterKey(count !== undefined),
    ]);
    return { found, masterKey };
  },
  title: (_data, { texts }) => texts.keys.title,
  view({ found, masterKey }, visit) {
    const { keys: texts } = visit.texts;
    return html`<p class="lead">${texts.lead}</p>
${signingPurpose.options.map((purpose) => {
  const ofPurpose = found.filter((key) => key.purpose === purpose);
  const mayRotate = ofPurpose.length > 0 && ofPurpose.every(({ state }) => state !== 'published');
  return card(
    texts.purposes[purpose],
    keyTable(ofPurpose, visit),
    mayRotate
      ? destroyLink(visit, {
          act: 'rotate',
          label: texts.rotate,
          fields: { purpose },
          isDanger: false,
        })
      : undefined,
  );
})}
${masterKey && card(texts.masterKey, masterKeyFacts(masterKey, visit))}`;
  },
  acts: {
    rotate: act({
      fields: z.object({ purpose: signingPurpose }),
      async preview({ purpose }, { operators }) {
        const found = await operators.signingKeys.list();
        const signing = found.find((key) => key.purpose === purpose && key.state === 'signing');
        if (signing === undefined) {
          throw new OperatorError('not_found');
        }
        return { purpose, kid: signing.kid };
      },
      confirm: ({ purpose, kid }, { texts: { keys: texts } }) => ({
        title: fill(texts.rotateTitle, { purpose: texts.purposes[purpose] }),
        effect: html`<p>${texts.rotateEffect}</p><p>${code(kid)}</p>`,
        button: texts.rotate,
      }),
      run: ({ purpose }, { operators, operator }) =>
        operators.signingKeys.rotate(operator, purpose).then(noting('published')),
    }),
  },
});

function keyTable(found: readonly SigningKeyView[], visit: Visit): Html {
  const { keys: texts, common } = visit.texts;
  return table(visit, {
    caption: texts.title,
    columns: [
      {
        label: common.keyId,
        cell: ({ kid, algorithm }) =>
          entry(code(kid), html`<span translate="no">${algorithm}</span>`),
      },
      { label: common.state, cell: ({ state }) => status(tones[state], texts.states[state]) },
      { label: common.created, cell: ({ createdAt }) => lastTime(createdAt, visit) },
      {
        label: texts.signsUntil,
        cell: ({ state, signsUntil }) =>
          state === 'retired' ? undefined : lastTime(signsUntil, visit),
      },
      {
        label: texts.deleted,
        cell: ({ deletedAt }) =>
          deletedAt === undefined ? texts.afterSuccessor : lastTime(deletedAt, visit),
      },
    ],
    rows: found,
    empty: texts.empty,
  });
}

function stepOf({ nextKeyId, previousKeyId, finishAt }: MasterKeyState, now: number) {
  if (previousKeyId === undefined) {
    return nextKeyId === undefined ? 'settled' : 'added';
  }
  if (finishAt === undefined) {
    return 'encrypting';
  }
  return finishAt > now ? 'switched' : 'finish';
}

function masterKeyFacts(state: MasterKeyState, visit: Visit): Html {
  const { keys: texts, common, frame } = visit.texts;
  const { keyId, nextKeyId, previousKeyId, switchedAt, finishAt, outdated } = state;
  const step = stepOf(state, visit.now);
  // Only the command line changes the file, on the host that has it.
  const command =
    step === 'switched'
      ? undefined
      : `gatehouse master-key rotate${step === 'finish' ? ' --finish' : ''}`;
  const count =
    outdated === undefined
      ? html`<a href="${visit.path}?count=1">${texts.count}</a>`
      : counted(outdated, visit.texts, texts.records);
  return html`${definitions([
    [common.keyId, copyable(keyId, frame)],
    [texts.next, nextKeyId && code(nextKeyId)],
    [texts.previous, previousKeyId && code(previousKeyId)],
    [texts.rotation, status(step === 'settled' ? 'good' : 'warning', texts.steps[step].state)],
    [texts.switched, switchedAt === undefined ? undefined : time(switchedAt, visit)],
    [texts.finish, finishAt === undefined ? undefined : time(finishAt, visit)],
    [texts.outdated, previousKeyId === undefined ? undefined : count],
  ])}
<p class="hint after">${texts.steps[step].next}</p>
${command && html`<p>${copyable(command, frame)}</p>`}`;
}
