/** The keys of a client: age, last use and signatures of each, and the rotation in three steps. */
import type { Operators } from '@gatehouse/operators';
import { fill, type Html, html, plainName, sentence } from '@gatehouse/server';
import { z } from 'zod';
import { act, type Visit } from '../frame/screen.ts';
import { pathTo } from '../view/addresses.ts';
import { actForm, destroyLink } from '../view/forms.ts';
import { card, copyable, definitions, live, table, time } from '../view/parts.ts';
import type { Texts } from '../view/texts-en.ts';
import { commandBlock, secretCard, tokenCommand } from './client-wizard.ts';
import { CLIENT_PATH, useTime } from './clients.ts';

const DAY_SECONDS = 24 * 60 * 60;
const REFRESH_SECONDS = 15;

export interface ClientData {
  readonly found: Awaited<ReturnType<Operators['clients']['read']>>;
  readonly use: Awaited<ReturnType<Operators['clients']['use']>>;
  readonly tokens: number;
  /** Declared ones. */
  readonly resources: Awaited<ReturnType<Operators['settings']['read']>>['settings']['resources'];
}

const tabOf = (id: string) => `${pathTo(CLIENT_PATH, { id })}?tab=keys`;

/** It loads again by itself, so that an operator sees how the old key falls silent. */
export const keysTab = (data: ClientData, visit: Visit): Html =>
  live('keys', REFRESH_SECONDS, keysOf(data, visit));

function keysOf({ found: { client, lastUse }, use }: ClientData, visit: Visit): Html {
  const { clients: texts, frame } = visit.texts;
  const { keys, publicKeyIds, keptKeyIds } = client;
  if (keys.length === 0) {
    const keyList = publicKeyIds.map((id) => html`<li>${copyable(id, frame)}</li>`);
    return publicKeyIds.length === 0 && client.jwksUri === undefined
      ? html`<p class="empty">${texts.noKeys}</p>`
      : card(
          texts.publicKeys,
          html`<p class="hint">${texts.ownKeys}</p><ul class="uris">${keyList}</ul>`,
        );
  }
  const place = (index: number) => (index === 0 ? texts.newKey : texts.oldKey);
  const signs = (keyId: string) =>
    (use.signaturesOfKeys.get(keyId) ?? []).map(
      ({ practice, lastAt }) =>
        html`<div>${signatureName(practice, texts)}<small>${useTime(lastAt, visit)}</small></div>`,
    );
  return html`${card(
    texts.keys,
    table(visit, {
      caption: texts.keys,
      columns: [
        {
          label: texts.keyId,
          cell: ({ keyId }) =>
            html`<div><code translate="no">${keyId}</code>${
              keys.length > 1
                ? html`<small>${place(keys.findIndex((key) => key.keyId === keyId))}</small>`
                : undefined
            }</div>`,
        },
        {
          label: texts.age,
          cell: ({ createdAt }) =>
            createdAt === undefined ? texts.unknownAge : time(createdAt * 1000, visit),
        },
        { label: texts.lastUse, cell: ({ keyId }) => useTime(lastUse.keys[keyId], visit) },
        {
          label: texts.signs,
          cell: ({ keyId }) =>
            signs(keyId).length === 0 ? undefined : html`<div>${signs(keyId)}</div>`,
        },
      ],
      rows: keys,
      empty: texts.none,
    }),
  )}
${rotation({ keys, uses: lastUse.keys }, visit)}
${
  keptKeyIds.length > 0 || publicKeyIds.length > 0
    ? card(
        texts.details,
        definitions([
          [texts.keptKeys, keptKeyIds.join(', ') || undefined],
          [texts.publicKeys, publicKeyIds.join(', ') || undefined],
        ]),
      )
    : undefined
}`;
}

const signatureName = (practice: string, texts: Texts['clients']): string =>
  practice === 'HMAC-SHA-256' ? texts.version2 : fill(texts.version1, { digest: practice });

/** Which step is next, and what the last uses of both keys say about it. */
function rotation(
  {
    keys,
    uses,
  }: {
    readonly keys: ClientData['found']['client']['keys'];
    readonly uses: Readonly<Record<string, number | undefined>>;
  },
  visit: Visit,
): Html {
  const { clients: texts } = visit.texts;
  const [newest, old] = keys;
  const [newUse, oldUse] = [uses[newest?.keyId ?? ''], uses[old?.keyId ?? '']];
  const isUsed = oldUse !== undefined && oldUse > visit.now / 1000 - DAY_SECONDS;
  const isReady = old !== undefined && newUse !== undefined && !isUsed;
  const current = old === undefined ? 0 : isReady ? 2 : 1;
  const findings =
    old === undefined
      ? undefined
      : html`${newUse === undefined ? html`<p class="warning">${texts.newUnused}</p>` : undefined}
${
  isUsed
    ? html`<p class="warning">${texts.stillUsed}</p>`
    : html`<p class="success">${
        oldUse === undefined
          ? texts.neverUsed
          : sentence(texts.silent, { time: useTime(oldUse, visit) })
      }</p>`
}`;
  const next =
    old === undefined
      ? actForm(visit, { act: 'add-key', button: texts.addKey })
      : destroyLink(visit, {
          act: 'remove-key',
          label: texts.removeKey,
          fields: { keyId: old.keyId },
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
      return {
        title: fill(texts.clients.addedTitle, { name: plainName(client.name) }),
        content: html`${secretCard(secureKey, texts)}
${
  client.grantTypes.includes('client_credentials')
    ? card(
        texts.wizard.tryIt,
        html`${commandBlock(command, texts)}<p class="hint">${texts.wizard.tryMachine}</p>`,
      )
    : undefined
}
<p class="actions"><a class="button primary" href="${tabOf(id)}">${texts.wizard.open}</a></p>`,
      };
    },
  }),
  'remove-key': act({
    fields: z.object({ keyId: z.string(), keepTokens: z.enum(['true', 'false']).default('false') }),
    async preview(fields, { operators, parameters: { id = '' } }) {
      const { lastUse } = await operators.clients.read(id);
      const keepTokens = fields.keepTokens === 'true';
      return { keyId: fields.keyId, keepTokens, at: lastUse.keys[fields.keyId] };
    },
    confirm({ keyId, keepTokens, at }, visit) {
      const { clients: texts } = visit.texts;
      const effect = keepTokens ? texts.keepKeyEffect : texts.removeKeyEffect;
      const other = new URLSearchParams({ keyId, keepTokens: String(!keepTokens) });
      const isRecent = at !== undefined && at > visit.now / 1000 - DAY_SECONDS;
      return {
        title: fill(texts.removeKeyTitle, { key: keyId }),
        effect: html`<p>${sentence(effect, { time: useTime(at, visit) })}</p>
${isRecent ? html`<p class="warning">${texts.stillUsed}</p>` : undefined}
<p><a href="${visit.path}/remove-key?${String(other)}">${keepTokens ? texts.endTokens : texts.keepTokens}</a></p>`,
        button: texts.removeKey,
      };
    },
    async run({ keyId, keepTokens }, { operators, operator, parameters: { id = '' } }) {
      const options = { keepTokens: keepTokens === 'true' };
      await operators.clientKeys.remove(operator, id, keyId, options);
      return { to: tabOf(id), notice: 'removed' };
    },
  }),
};
