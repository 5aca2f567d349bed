/** Organizations: the list, and one with its members. */
import { membersByOrganization } from '@gatehouse/identity';
import { memberFilter, type OrganizationView, type Page } from '@gatehouse/operators';
import { foreignName, type Html, html } from '@gatehouse/server';
import { z } from 'zod';
import { act, type Screen, screen, type Visit } from '../frame/screen.ts';
import { pathTo } from '../view/addresses.ts';
import { actForm, destroyLink, filterForm } from '../view/forms.ts';
import { card, code, copyable, definitions, table } from '../view/parts.ts';
import { ending, noting } from './acts.ts';
import { clientTable, logLinks } from './clients.ts';
import { type DeclaredSettings, MEMBER_PATH, summary } from './settings.ts';
import { userTable } from './users.ts';

const LIST_PATH = '/organizations';
const PATH = '/organizations/:id';

/** As many as fit on a screen. */
const MEMBERS = 20;

export const organizations: Screen = screen({
  path: LIST_PATH,
  query: memberFilter.pick({ search: true, cursor: true }).strip(),
  load: ({ operators, query }) => operators.organizations.list(query),
  title: (_data, { texts }) => texts.organizations.title,
  view(page, visit) {
    const { organizations: texts, common } = visit.texts;
    const add = actForm(visit, {
      act: 'add',
      fields: [
        { name: 'name', label: common.name, required: true },
        { name: 'id', label: texts.id, hint: texts.idHint, required: true },
      ],
      button: texts.add,
    });
    return html`<p class="lead">${texts.lead}</p>
${filterForm(visit, [{ name: 'search', label: common.search, type: 'search' }])}
<section class="card">${organizationTable(page, visit, (id) => pathTo(PATH, { id }))}</section>
${add && card(texts.add, add)}`;
  },
  acts: {
    add: act({
      fields: z.object({ id: z.string(), name: z.string() }),
      async run(fields, { operators, operator }) {
        const { id } = await operators.organizations.create(operator, fields);
        return { to: pathTo(PATH, { id }), notice: 'saved' };
      },
    }),
  },
});

/** @param addressOf where an organization leads, by its id */
export function organizationTable(
  { items, next }: Page<OrganizationView>,
  visit: Visit,
  addressOf: (id: string) => string,
): Html {
  const { organizations: texts, common } = visit.texts;
  return table(visit, {
    caption: texts.title,
    columns: [
      {
        label: common.name,
        cell: ({ id, name }) => html`<a href="${addressOf(id)}">${foreignName(name)}</a>`,
      },
      { label: texts.id, cell: ({ id }) => code(id) },
    ],
    rows: items,
    next,
    empty: texts.empty,
  });
}

export const organization: Screen = screen({
  path: PATH,
  query: z.object({ users: z.string().optional(), clients: z.string().optional() }),
  async load({ operators, parameters: { id: orgId = '' }, query }) {
    const [found, users, clients, { settings }] = await Promise.all([
      operators.organizations.read(orgId),
      operators.users.list({ orgId, cursor: query.users, limit: MEMBERS }),
      operators.clients.list({ orgId, cursor: query.clients, limit: MEMBERS }),
      operators.settings.read(),
    ]);
    return { organization: found, users, clients, settings };
  },
  title: (data) => data.organization.name,
  trail: (_data, { texts }) => [{ address: LIST_PATH, label: texts.organizations.title }],
  tools: ({ organization: { id: orgId } }, visit) =>
    html`<a class="button" href="/devices?${String(new URLSearchParams({ orgId }))}">${visit.texts.devices.title}</a>
${logLinks({ orgId }, visit.texts)}${destroyLink(visit, { act: 'remove', label: visit.texts.organizations.acts.remove.button })}`,
  view({ organization: { id, name, version }, users, clients, settings }, visit) {
    const { organizations: texts, common, frame } = visit.texts;
    const rename = actForm(visit, {
      act: 'rename',
      fields: [{ name: 'name', label: common.name, value: name, required: true }],
      hidden: { version },
      button: common.save,
    });
    return html`${card(common.details, html`${definitions([[texts.id, copyable(id, frame)]])}${rename}`)}
${card(texts.policy, definitions(membersByOrganization.map((member) => [member, ownPart(member, { id, settings }, visit)])))}
${card(visit.texts.users.title, userTable(users, visit, 'users'))}
${card(visit.texts.clients.title, clientTable(clients, visit, 'clients'))}`;
  },
  acts: {
    rename: act({
      fields: z.object({ name: z.string(), version: z.string() }),
      run: ({ name, version: ifVersion }, { operators, operator, parameters: { id = '' } }) =>
        operators.organizations.change(operator, id, { name }, { ifVersion }).then(noting('saved')),
    }),
    remove: ending({
      fields: z.object({}),
      texts: ({ organizations: { acts } }) => acts.remove,
      async names(_fields, { operators }, id) {
        const { name } = await operators.organizations.read(id);
        const { users, clientIds } = await operators.organizations.previewRemoval(id);
        return { name, users, clients: clientIds.length };
      },
      run: (_fields, { operators, operator }, id) =>
        operators.organizations.remove(operator, id).then(noting('removed', LIST_PATH)),
    }),
  },
});

/** What the settings declare for this organization, with a link to where that is changed. */
function ownPart(
  member: (typeof membersByOrganization)[number],
  { id, settings }: { readonly id: string } & Pick<DeclaredSettings, 'settings'>,
  visit: Visit,
): Html {
  const { organizations: texts } = visit.texts;
  const own = settings[member]?.organizations?.[id];
  const value = own === undefined ? visit.texts.clients.installation : summary(own, visit);
  return html`${value} <a href="${pathTo(MEMBER_PATH, { member })}">${texts.edit}</a>`;
}
