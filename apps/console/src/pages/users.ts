/** Users: the list, with when each of them last signed in. */
import type { UserView } from '@gatehouse/operators';
import { foreignName, type Html, html } from '@gatehouse/server';
import { z } from 'zod';
import { type Screen, screen } from '../frame/screen.ts';
import { pathTo } from '../view/addresses.ts';
import { memberFilter } from '../view/forms.ts';
import { status, table, time } from '../view/parts.ts';
import type { Texts } from '../view/texts-en.ts';

export const USERS_PATH = '/users';
export const USER_PATH = '/users/:id';

export const users: Screen = screen({
  path: USERS_PATH,
  requires: 'operator:read',
  query: z.object({
    search: z.string().optional(),
    orgId: z.string().optional(),
    disabled: z.literal('true').optional(),
    cursor: z.string().optional(),
  }),
  load: ({ operators, query }) => operators.users.list(query),
  title: (_data, { texts }) => texts.users.title,
  view({ items, next }, visit) {
    const { users: texts } = visit.texts;
    return html`<p class="lead">${texts.lead}</p>
${memberFilter(visit, texts)}
${table(visit, {
  caption: texts.title,
  columns: [
    {
      label: texts.name,
      cell: ({ userId: id, name, username }) =>
        html`<div class="entry"><a href="${pathTo(USER_PATH, { id })}">${foreignName(name)}</a><small>${foreignName(username)}</small></div>`,
    },
    { label: texts.organization, cell: ({ orgId }) => organizationLink(orgId) },
    { label: texts.roles, cell: ({ roles }) => roles.join(', ') || undefined },
    { label: texts.state, cell: (user) => userState(user, visit.texts) },
    {
      label: texts.lastSignIn,
      cell: ({ lastSignInAt: at }) => (at === undefined ? texts.never : time(at * 1000, visit)),
    },
  ],
  rows: items,
  next,
  empty: texts.empty,
})}`;
  },
});

export const organizationLink = (id: string): Html =>
  html`<a href="${pathTo('/organizations/:id', { id })}"><code translate="no">${id}</code></a>`;

export const userState = ({ enabled }: UserView, { users: texts }: Texts): Html =>
  enabled ? status('good', texts.enabled) : status('quiet', texts.disabled);
