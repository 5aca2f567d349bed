/** Clients: the list, with what each of them is and when it was last used. */
import type { ClientView } from '@gatehouse/operators';
import { foreignName, type Html, html } from '@gatehouse/server';
import { z } from 'zod';
import { type Screen, screen } from '../frame/screen.ts';
import { pathTo } from '../view/addresses.ts';
import { memberFilter } from '../view/forms.ts';
import { type Place, status, table, time } from '../view/parts.ts';
import type { Texts } from '../view/texts-en.ts';

export const LIST_PATH = '/clients';
export const CLIENT_PATH = '/clients/:id';
/** Not below the list, where it could be the id of a client. */
export const NEW_CLIENT_PATH = '/new-client';

export const clients: Screen = screen({
  path: LIST_PATH,
  requires: 'operator:read',
  query: z.object({
    search: z.string().optional(),
    orgId: z.string().optional(),
    disabled: z.literal('true').optional(),
    cursor: z.string().optional(),
  }),
  load: ({ operators, query }) => operators.clients.list(query),
  title: (_data, { texts }) => texts.clients.title,
  tools: (_data, { texts, mayWrite }) =>
    mayWrite
      ? html`<a class="button primary" href="${NEW_CLIENT_PATH}">${texts.clients.add}</a>`
      : undefined,
  view({ items, next }, visit) {
    const { clients: texts } = visit.texts;
    return html`<p class="lead">${texts.lead}</p>
${memberFilter(visit, texts)}
${table(visit, {
  caption: texts.title,
  columns: [
    {
      label: texts.name,
      cell: (client) =>
        html`<div>${clientLink(client.clientId, client.name)}<small><code translate="no">${client.clientId}</code></small></div>`,
    },
    { label: texts.kind, cell: (client) => visit.texts.wizard.kinds[kindOf(client)].title },
    {
      label: visit.texts.wizard.organization,
      cell: ({ orgId }) =>
        html`<a href="${pathTo('/organizations/:id', { id: orgId })}">${orgId}</a>`,
    },
    { label: texts.state, cell: (client) => stateOf(client, visit.texts) },
    { label: texts.lastUse, cell: ({ lastUsedAt }) => useTime(lastUsedAt, visit) },
  ],
  rows: items,
  next,
  empty: texts.empty,
})}`;
  },
});

export const clientLink = (id: string, name: string): Html =>
  html`<a href="${pathTo(CLIENT_PATH, { id })}">${foreignName(name)}</a>`;

export const stateOf = ({ enabled }: Pick<ClientView, 'enabled'>, { clients }: Texts): Html =>
  enabled ? status('good', clients.enabled) : status('quiet', clients.disabled);

/** @param at epoch seconds */
export const useTime = (
  at: number | undefined,
  { texts, now }: Pick<Place, 'texts' | 'now'>,
): Html => (at === undefined ? html`${texts.clients.never}` : time(at * 1000, { texts, now }));

/** To the request log and the audit trail, with what concerns this client, user or organization. */
export const logLinks = (
  filter: Readonly<Partial<Record<'clientId' | 'user' | 'orgId', string>>>,
  { clients: texts }: Texts,
): Html =>
  html`<a class="button" href="/requests?${String(new URLSearchParams(filter))}">${texts.requests}</a><a class="button" href="/audit?${String(new URLSearchParams(filter))}">${texts.audit}</a>`;

/** What kind of program it is, as far as its registration shows it. */
export function kindOf(client: ClientView): keyof Texts['wizard']['kinds'] {
  const signsUsersIn = client.grantTypes.some((type) => type !== 'client_credentials');
  if (client.applicationType === 'native') {
    return 'native';
  }
  if (signsUsersIn) {
    return client.public ? 'spa' : 'web';
  }
  return client.grantTypes.length === 0 ? 'signing' : 'machine';
}
