/** The redirect URIs of a client: a tester that compares as the authorization server does, and the change. */
import { compareRedirectUri } from '@gatehouse/identity';
import { type Html, html, sentence } from '@gatehouse/server';
import { z } from 'zod';
import { type Act, act, type Visit } from '../frame/screen.ts';
import { actForm } from '../view/forms.ts';
import { card } from '../view/parts.ts';
import type { Texts } from '../view/texts-en.ts';
import type { ClientData } from './client-keys.ts';
import { withFieldNames, wordsOf } from './client-wizard.ts';

export function redirectsTab(
  { found: { client } }: ClientData,
  visit: Visit<{ uri?: string | undefined }>,
): Html {
  const { clients: texts } = visit.texts;
  const { uri } = visit.query;
  const list = client.redirectUris.map(
    (each) => html`<li><code translate="no">${each}</code></li>`,
  );
  const form = html`<form class="filter" method="get" action="${visit.path}">
<input type="hidden" name="tab" value="redirects">
<div class="field"><label for="test-uri">${texts.testerField}</label>
<input id="test-uri" name="uri" type="text" value="${uri ?? ''}" required autocomplete="off" spellcheck="false"></div>
<div class="actions"><button type="submit">${texts.test}</button></div>
</form>`;
  const edit = actForm(visit, {
    act: 'redirects',
    fields: [
      {
        ...{ name: 'redirectUris', label: texts.redirects, hint: texts.redirectsHint, rows: 4 },
        value: client.redirectUris.join('\n'),
      },
    ],
    hidden: { version: client.version },
    button: texts.save,
  });
  return html`${card(texts.tester, html`${form}${uri === undefined ? undefined : comparison(uri, client, texts)}`)}
${card(
  texts.registered,
  edit ??
    (list.length === 0
      ? html`<p class="empty">${texts.noRedirects}</p>`
      : html`<ul class="uris">${list}</ul>`),
)}`;
}

function comparison(
  uri: string,
  client: ClientData['found']['client'],
  texts: Texts['clients'],
): Html {
  const compared = compareRedirectUri(uri, client);
  const registered = html`<code translate="no">${compared.registered ?? ''}</code>`;
  return compared.accepted === undefined
    ? html`<p class="problem" role="status">${sentence(texts.differences[compared.difference], { uri: registered })}</p>`
    : html`<p class="success" role="status">${sentence(compared.accepted === 'exact' ? texts.exact : texts.loopbackPort, { uri: registered })}</p>`;
}

export const changeRedirects: Act = act({
  fields: z.object({ redirectUris: z.string(), version: z.string() }),
  async run({ redirectUris, version }, { operators, operator, path, parameters: { id = '' } }) {
    const change = { redirectUris: wordsOf(redirectUris) };
    const condition = { ifVersion: version };
    await withFieldNames(() => operators.clients.change(operator, id, change, condition));
    return { to: `${path}?tab=redirects`, notice: 'saved' };
  },
});
