/** The redirect URIs of a client: a tester that compares as the authorization server does, and the change. */
import { compareRedirectUri } from '@gatehouse/identity';
import { type Html, html, sentence } from '@gatehouse/server';
import { z } from 'zod';
import { type Act, act, type Visit } from '../frame/screen.ts';
import { actForm, filterForm } from '../view/forms.ts';
import { card, code, lines } from '../view/parts.ts';
import type { Texts } from '../view/texts-en.ts';
import { noting } from './acts.ts';
import type { ClientData } from './client-keys.ts';
import { wordsOf } from './client-wizard.ts';

export function redirectsTab(
  { found: { client } }: ClientData,
  visit: Visit<{ uri?: string | undefined }>,
): Html {
  const { clients: texts, common } = visit.texts;
  const { uri } = visit.query;
  const form = filterForm(
    visit,
    [{ name: 'uri', label: texts.testerField, value: uri, required: true }],
    texts.test,
  );
  const edit = actForm(visit, {
    act: 'redirects',
    fields: [
      {
        ...{ name: 'redirectUris', label: common.redirects, hint: texts.redirectsHint, rows: 4 },
        value: client.redirectUris.join('\n'),
      },
    ],
    hidden: { version: client.version },
    button: common.save,
  });
  return html`${card(texts.tester, html`${form}${uri === undefined ? undefined : comparison(uri, client, texts)}`)}
${card(
  texts.registered,
  edit ?? lines(client.redirectUris.map(code)) ?? html`<p class="empty">${texts.noRedirects}</p>`,
)}`;
}

function comparison(
  uri: string,
  client: ClientData['found']['client'],
  texts: Texts['clients'],
): Html {
  const compared = compareRedirectUri(uri, client);
  const registered = code(compared.registered ?? '');
  return compared.accepted === undefined
    ? html`<p class="problem" role="status">${sentence(texts.differences[compared.difference], { uri: registered })}</p>`
    : html`<p class="success" role="status">${sentence(compared.accepted === 'exact' ? texts.exact : texts.loopbackPort, { uri: registered })}</p>`;
}

export const changeRedirects: Act = act({
  fields: z.object({ redirectUris: z.string(), version: z.string() }),
  run(
    { redirectUris, version: ifVersion },
    { operators, operator, path, parameters: { id = '' } },
  ) {
    const change = { redirectUris: wordsOf(redirectUris) };
    const changed = operators.clients.change(operator, id, change, { ifVersion });
    return changed.then(noting('saved', `${path}?tab=redirects`));
  },
});
