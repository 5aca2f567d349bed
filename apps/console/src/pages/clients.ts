/** Clients: the list, with what each of them is and when it was last used. */
import { type ClientView, type ListedClient, memberFilter, type Page } from '@gatehouse/operators';
import { type Html, html } from '@gatehouse/server';
import { type Screen, screen, type Visit } from '../frame/screen.ts';
import { memberFilterForm } from '../view/forms.ts';
import {
  type Column,
  clientLink,
  code,
  enabledState,
  entry,
  lastTime,
  organizationLink,
  table,
} from '../view/parts.ts';
import type { Texts } from '../view/texts-en.ts';

export const LIST_PATH = '/clients';
export const CLIENT_PATH = '/clients/:id';
/** Not below the list, where it could be the id of a client. */
export const NEW_CLIENT_PATH = '/new-client';

export const clients: Screen = screen({
  path: LIST_PATH,
  query: memberFilter.strip(),
  load: ({ operators, query }) => operators.clients.list(query),
  title: (_data, { texts }) => texts.clients.title,
  tools: (_data, { texts, mayWrite }) =>
    mayWrite
      ? html`<a class="button primary" href="${NEW_CLIENT_PATH}">${texts.clients.add}</a>`
      : undefined,
  view(page, visit) {
    const { clients: texts, common } = visit.texts;
    return html`<p class="lead">${texts.lead}</p>
${memberFilterForm(visit, common.search)}
<section class="card">${clientTable(page, visit)}</section>`;
  },
});

/** @param cursorName of the clients of one organization, which then has no column */
export function clientTable(
  { items, next }: Page<ListedClient>,
  visit: Visit,
  cursorName?: 'users' | 'clients',
): Html {
  const { clients: texts, common, wizard } = visit.texts;
  const organization: Column<ListedClient> = {
    label: common.organization,
    cell: ({ orgId }) => organizationLink(orgId),
  };
  const columns: readonly Column<ListedClient>[] = [
    {
      label: common.name,
      cell: ({ clientId, name }) => entry(clientLink(clientId, name), code(clientId)),
    },
    { label: common.kind, cell: (client) => wizard.kinds[kindOf(client)].title },
    ...(cursorName === undefined ? [organization] : []),
    { label: common.state, cell: ({ enabled }) => enabledState(enabled, visit.texts) },
    { label: common.lastUse, cell: ({ lastUsedAt }) => lastTime(lastUsedAt, visit) },
  ];
  const { title: caption, empty } = texts;
  return table(visit, { caption, columns, rows: items, next, cursorName, empty });
}

/** To the request log and the audit trail, with what concerns this client, user or organization. */
export function logLinks(
  filter: Readonly<Partial<Record<'clientId' | 'user' | 'orgId', string>>>,
  { requests, audit }: Texts,
): Html {
  const query = String(new URLSearchParams(filter));
  return html`<a class="button" href="/requests?${query}">${requests.title}</a><a class="button" href="/audit?${query}">${audit.title}</a>`;
}

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
