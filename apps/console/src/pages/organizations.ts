/** Organizations: the list, and one with its members. */
import { membersByOrganization } from '@gatehouse/identity';
import type { OrganizationView, Page } from '@gatehouse/operators';
import { foreignName, type Html, html, sentence } from '@gatehouse/server';
import { z } from 'zod';
import { act, type Screen, screen, type Visit } from '../frame/screen.ts';
import { pathTo } from '../view/addresses.ts';
import { actForm, destroyLink, filterForm } from '../view/forms.ts';
import { card, copyable, counted, definitions, status, table } from '../view/parts.ts';

import { clientLink, logLinks } from './clients.ts';
import { MEMBER_PATH, summary } from './settings.ts';
import { USER_PATH } from './users.ts';

const LIST_PATH = '/organizations';
const PATH = '/organizations/:id';

/** As many as fit on a screen. */
const MEMBERS = 20;

export const organizations: Screen = screen({
  path: LIST_PATH,
  requires: 'operator:read',
  query: z.object({ search: z.string().optional(), cursor: z.string().optional() }),
  load: ({ operators, query }) => operators.organizations.list(query),
  title: (_data, { texts }) => texts.organizations.title,
  view(page, visit) {
    const { organizations: texts } = visit.texts;
    return html`<p class="lead">${texts.lead}</p>
${filterForm(visit, [{ name: 'search', label: texts.search, type: 'search' }])}
${organizationTable(page, visit, (id) => pathTo(PATH, { id }))}
${visit.mayWrite ? card(texts.addTitle, addForm(visit)) : undefined}`;
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
  const { organizations: texts } = visit.texts;
  return table(visit, {
    caption: texts.title,
    columns: [
      {
        label: texts.name,
        cell: ({ id, name }) => html`<a href="${addressOf(id)}">${foreignName(name)}</a>`,
      },
      { label: texts.id, cell: ({ id }) => html`<code translate="no">${id}</code>` },
    ],
    rows: items,
    next,
    empty: texts.empty,
  });
}

const addForm = (visit: Visit) => {
  const { organizations: texts } = visit.texts;
  return actForm(visit, {
    act: 'add',
    fields: [
      { name: 'name', label: texts.name, required: true },
      { name: 'id', label: texts.id, hint: texts.idHint, required: true },
    ],
    button: texts.add,
  });
};

export const organization: Screen = screen({
  path: PATH,
  requires: 'operator:read',
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
${logLinks({ orgId }, visit.texts)}${destroyLink(visit, { act: 'remove', label: visit.texts.organizations.remove })}`,
  view({ organization: { id, name, version }, users, clients, settings }, visit) {
    const { organizations: texts, frame } = visit.texts;
    const rename = actForm(visit, {
      act: 'rename',
      fields: [{ name: 'name', label: texts.name, value: name, required: true }],
      hidden: { version },
      button: texts.save,
    });
    const state = (enabled: boolean) =>
      enabled ? status('good', texts.enabled) : status('quiet', texts.disabled);
    return html`${card(texts.details, html`${definitions([[texts.id, copyable(id, frame)]])}${rename}`)}
${card(texts.policy, definitions(membersByOrganization.map((member) => [member, ownPart(member, { id, settings }, visit)])))}
${card(
  texts.members,
  table(visit, {
    caption: texts.members,
    columns: [
      {
        label: texts.username,
        cell: ({ userId, username }) =>
          html`<a href="${pathTo(USER_PATH, { id: userId })}">${foreignName(username)}</a>`,
      },
      { label: texts.name, cell: (user) => foreignName(user.name) },
      { label: texts.roles, cell: ({ roles }) => roles.join(', ') || undefined },
      { label: texts.state, cell: ({ enabled }) => state(enabled) },
    ],
    rows: users.items,
    next: users.next,
    cursorName: 'users',
    empty: texts.noMembers,
  }),
)}
${card(
  texts.clients,
  table(visit, {
    caption: texts.clients,
    columns: [
      { label: texts.name, cell: (client) => clientLink(client.clientId, client.name) },
      { label: texts.id, cell: ({ clientId }) => html`<code translate="no">${clientId}</code>` },
      { label: texts.state, cell: ({ enabled }) => state(enabled) },
    ],
    rows: clients.items,
    next: clients.next,
    cursorName: 'clients',
    empty: texts.noClients,
  }),
)}`;
  },
  acts: {
    rename: act({
      fields: z.object({ name: z.string(), version: z.string() }),
      async run({ name, version: ifVersion }, { operators, operator, parameters: { id = '' } }) {
        await operators.organizations.change(operator, id, { name }, { ifVersion });
        return { notice: 'saved' };
      },
    }),
    remove: act({
      fields: z.object({}),
      async preview(_fields, { operators, parameters: { id = '' } }) {
        const { name } = await operators.organizations.read(id);
        return { name, ...(await operators.organizations.previewRemoval(id)) };
      },
      confirm({ name, users, clientIds }, { texts }) {
        const counts = {
          users: counted(users, texts, texts.organizations.users),
          clients: counted(clientIds.length, texts, texts.organizations.clientCount),
        };
        return {
          title: texts.organizations.removeTitle.replace('{name}', () => name),
          effect: html`<p>${sentence(texts.organizations.removeEffect, counts)}</p>`,
          button: texts.organizations.remove,
        };
      },
      async run(_fields, { operators, operator, parameters: { id = '' } }) {
        await operators.organizations.remove(operator, id);
        return { to: LIST_PATH, notice: 'removed' };
      },
    }),
  },
});

/** What the settings declare for this organization, with a link to where that is changed. */
function ownPart(
  member: (typeof membersByOrganization)[number],
  {
    id,
    settings,
  }: {
    readonly id: string;
    readonly settings: Awaited<ReturnType<Visit['operators']['settings']['read']>>['settings'];
  },
  visit: Visit,
): Html {
  const { organizations: texts } = visit.texts;
  const own = settings[member]?.organizations?.[id];
  const value = own === undefined ? texts.asInstallation : summary(own, visit);
  return html`${value} <a href="${pathTo(MEMBER_PATH, { member })}">${texts.edit}</a>`;
}
