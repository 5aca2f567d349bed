/** The keys of a client: age, last use and signatures of each, and the rotation in three steps. */
import type { Operators } from '@gatehouse/operators';
import { fill, type Html, html, plainName, sentence } from '@gatehouse/server';
import { z } from 'zod';
import { act, type Visit } from '../frame/screen.ts';
import { pathTo } from '../view/addresses.ts';
import { actForm, destroyLink } from '../view/forms.ts';
import {
  card,
  code,
  copyable,
  definitions,
  entry,
  lastTime,
  lines,
  live,
  tableCard,
} from '../view/parts.ts';
import { noting } from './acts.ts';
import { secretPage, tokenCommand } from './client-wizard.ts';
import { CLIENT_PATH } from './clients.ts';
import type { DeclaredSettings } from './settings.ts';

const DAY_SECONDS = 24 * 60 * 60;
const REFRESH_SECONDS = 15;

export interface ClientData {
  readonly found: Awaited<ReturnType<Operators['clients']['read']>>;
  readonly use: Awaited<ReturnType<Operators['clients']['use']>>;
  readonly tokens: number;
  /** Declared ones. */
  readonly resources: DeclaredSettings['settings']['resources'];
}

const tabOf = (id: string) => `${pathTo(CLIENT_PATH, { id })}?tab=keys`;

/** It loads again by itself, so that an operator sees how the old key falls silent. */
export const keysTab = (data: ClientData, visit: Visit): Html =>
  live('keys', REFRESH_SECONDS, keysOf(data, visit));

function keysOf({ found: { client, lastUse }, use }: ClientData, visit: Visit): Html {
  const { clients: texts, common, frame, keys: words } = visit.texts;
  const { keys, publicKeyIds, keptKeyIds } = client;
  if (keys.length === 0) {
    return publicKeyIds.length === 0 && client.jwksUri === undefined
      ? html`<p class="empty">${texts.noKeys}</p>`
      : card(
          texts.publicKeys,
          html`<p class="hint">${texts.ownKeys}</p>${lines(publicKeyIds.map((id) => copyable(id, frame)))}`,
        );
  }
  const place = (keyId: string) => (keyId === keys[0]?.keyId ? texts.newKey : texts.oldKey);
  const signs = (keyId: string) =>
    (use.signaturesOfKeys.get(keyId) ?? []).map(({ practice, lastAt }) =>
      entry(texts.practices[practice], lastTime(lastAt, visit)),
    );
  const others = definitions([
    [texts.keptKeys, keptKeyIds.join(', ') || undefined],
    [texts.publicKeys, publicKeyIds.join(', ') || undefined],
  ]);
  return html`${tableCard(visit, {
    caption: words.title,
    columns: [
      {
        label: common.keyId,
        cell: ({ keyId }) => entry(code(keyId), keys.length > 1 ? place(keyId) : undefined),
      },
      {
        label: texts.age,
        cell: ({ createdAt }) =>
          createdAt === undefined ? common.unknown : lastTime(createdAt, visit),
      },
      { label: common.lastUse, cell: ({ keyId }) => lastTime(lastUse.keys[keyId], visit) },
      { label: texts.signs, cell: ({ keyId }) => lines(signs(keyId)) },
    ],
    rows: keys,
    empty: '',
  })}
${rotation(keys, lastUse.keys, visit)}
${keptKeyIds.length + publicKeyIds.length > 0 ? card(common.details, others) : undefined}`;
}

/** Which step is next, and what the last uses of both keys say about it. */
function rotation(
  keys: ClientData['found']['client']['keys'],
  uses: Readonly<Record<string, number | undefined>>,
  visit: Visit,
): Html {
  const { clients: texts } = visit.texts;
  const [newest, old] = keys;
  const [newUse, oldUse] = [uses[newest?.keyId ?? ''], uses[old?.keyId ?? '']];
  const isUsed = oldUse !== undefined && oldUse > visit.now / 1000 - DAY_SECONDS;
  const isReady = old !== undefined && newUse !== undefined && !isUsed;
  const current = old === undefined ? 0 : isReady ? 2 : 1;
  const note = (tone: 'warning' | 'success', content: string | Html) =>
    html`<p class="${tone}">${content}</p>`;
  const isSilent =
    oldUse === undefined
      ? texts.neverUsed
      : sentence(texts.silent, { time: lastTime(oldUse, visit) });
  const findings =
    old &&
    html`${newUse === undefined ? note('warning', texts.newUnused) : undefined}${isUsed ? note('warning', texts.stillUsed) : note('success', isSilent)}`;
  const next =
    old === undefined
      ? actForm(visit, { act: 'add-key', button: texts.addKey })
      : destroyLink(visit, {
          ...{ act: 'remove-key', label: texts.removeKey, fields: { keyId: old.keyId } },
        });
  return card(
    texts.rotation,
    html`<ol class="steps">${texts.rotationSteps.map(
      (step, index) =>
        html`<li${index === current ? html` aria-current="step"` : undefined}>${step}</li>`,
    )}</ol>${findings}${next && html`<p class="actions">${next}</p>`}`,
  );
}

export const keyActs = {
  'add-key': act({
    fields: z.object({}),
    async run(_fields, { operators, operator, parameters: { id = '' }, texts, issuer }) {
      const { client, secureKey } = await operators.clientKeys.rotate(operator, id);
      const command = tokenCommand({ clientId: id, secureKey }, issuer);
      const hasTokens = client.grantTypes.includes('client_credentials');
      const trial = hasTokens ? ([command, texts.wizard.tryMachine] as const) : undefined;
      return {
        title: fill(texts.clients.addedTitle, { name: plainName(client.name) }),
        content: secretPage({ secureKey, trial, address: tabOf(id) }, texts),
      };
    },
  }),
  'remove-key': act({
    fields: z.object({ keyId: z.string(), keepTokens: z.stringbool().default(false) }),
    async preview(fields, { operators, parameters: { id = '' } }) {
      const { lastUse } = await operators.clients.read(id);
      return { ...fields, at: lastUse.keys[fields.keyId] };
    },
    confirm({ keyId, keepTokens, at }, visit) {
      const { clients: texts } = visit.texts;
      const effect = keepTokens ? texts.keepKeyEffect : texts.removeKeyEffect;
      const other = new URLSearchParams({ keyId, keepTokens: String(!keepTokens) });
      const isRecent = at !== undefined && at > visit.now / 1000 - DAY_SECONDS;
      return {
        title: fill(texts.removeKeyTitle, { key: keyId }),
        effect: html`<p>${sentence(effect, { time: lastTime(at, visit) })}</p>
${isRecent ? html`<p class="warning">${texts.stillUsed}</p>` : undefined}
<p><a href="${visit.path}/remove-key?${String(other)}">${keepTokens ? texts.endTokens : texts.keepTokens}</a></p>`,
        button: texts.removeKey,
      };
    },
    run: ({ keyId, keepTokens }, { operators, operator, parameters: { id = '' } }) =>
      operators.clientKeys
        .remove(operator, id, keyId, { keepTokens })
        .then(noting('removed', tabOf(id))),
  }),
};
