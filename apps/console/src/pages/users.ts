/** Users: the list, with when each of them last signed in. */
import { type ListedUser, memberFilter, type Page } from '@gatehouse/operators';
import { foreignName, type Html, html } from '@gatehouse/server';
import { type Screen, screen, type Visit } from '../frame/screen.ts';
import { memberFilterForm } from '../view/forms.ts';
import {
  type Column,
  enabledState,
  entry,
  lastTime,
  organizationLink,
  table,
  userLink,
} from '../view/parts.ts';

export const USERS_PATH = '/users';
export const USER_PATH = '/users/:id';

export const users: Screen = screen({
  path: USERS_PATH,
  query: memberFilter.strip(),
  load: ({ operators, query }) => operators.users.list(query),
  title: (_data, { texts }) => texts.users.title,
  view(page, visit) {
    const { users: texts } = visit.texts;
    return html`<p class="lead">${texts.lead}</p>
${memberFilterForm(visit, texts.search)}
<section class="card">${userTable(page, visit)}</section>`;
  },
});

/** @param cursorName of the users of one organization, which then has no column */
export function userTable(
  { items, next }: Page<ListedUser>,
  visit: Visit,
  cursorName?: 'users' | 'clients',
): Html {
  const { users: texts, common } = visit.texts;
  const organization: Column<ListedUser> = {
    label: common.organization,
    cell: ({ orgId }) => organizationLink(orgId),
  };
  const columns: readonly Column<ListedUser>[] = [
    {
      label: texts.name,
      cell: ({ userId, name, username }) => entry(userLink(userId, name), foreignName(username)),
    },
    ...(cursorName === undefined ? [organization] : []),
    { label: common.roles, cell: ({ roles }) => roles.join(', ') || undefined },
    { label: common.state, cell: ({ enabled }) => enabledState(enabled, visit.texts) },
    { label: texts.lastSignIn, cell: ({ lastSignInAt }) => lastTime(lastSignInAt, visit) },
  ];
  const { title: caption, empty } = texts;
  return table(visit, { caption, columns, rows: items, next, cursorName, empty });
}
