/** Devices: those of one organization, and one device with the latest calls of its organization. */
import { operations as apiOperations, deviceTypeLabels, stateLabels } from '@gatehouse/device-api';
import {
  deviceFilter,
  type ListedDevice,
  type OrganizationView,
  type Page,
} from '@gatehouse/operators';
import { foreignName, type Html, html, plainName, sentence } from '@gatehouse/server';
import { z } from 'zod';
import { type Screen, screen, type Visit } from '../frame/screen.ts';
import { addressWith, pathTo } from '../view/addresses.ts';
import { filterForm } from '../view/forms.ts';
import { card, copyable, definitions, status, table, time } from '../view/parts.ts';
import type { Texts } from '../view/texts-en.ts';
import { requestTable } from './requests.ts';
import { organizationLink } from './users.ts';

const DEVICES_PATH = '/devices';
const DEVICE_PATH = '/devices/:orgId/:id';
const CALLS = 20;

/** The operations on one device. */
const calls = new Set<string>(
  apiOperations
    .filter(({ paths }) => paths.some((path) => path.includes('{deviceId}')))
    .map(({ name }) => name),
);

/** One organization at a time: its id is in the URL. */
export const devices: Screen = screen({
  path: DEVICES_PATH,
  requires: 'operator:read',
  query: deviceFilter.extend({
    orgId: z.string().optional(),
    organizations: z.string().optional(),
  }),
  async load({ operators, operator, query: { orgId, organizations: cursor, ...filter } }) {
    if (operators.devices === undefined) {
      return {};
    }
    if (orgId === undefined) {
      return { organizations: await operators.organizations.list({ cursor }) };
    }
    const organization = await operators.organizations.read(orgId);
    return { organization, page: await operators.devices.list(operator, orgId, filter) };
  },
  title: (_data, { texts }) => texts.devices.title,
  view({ organizations, organization, page }, visit) {
    const { devices: texts } = visit.texts;
    return html`<p class="lead">${texts.lead}</p>
${
  organizations !== undefined
    ? organizationTable(organizations, visit)
    : organization === undefined
      ? html`<p class="empty">${sentence(texts.unset, {
          url: html`<code translate="no">DEVICE_SERVICE_URL</code>`,
          socket: html`<code translate="no">DEVICE_SERVICE_SOCKET</code>`,
        })}</p>`
      : html`${filters(visit)}
${card(plainName(organization.name), deviceTable(organization, page, visit))}`
}`;
  },
});

function filters(visit: Visit): Html {
  const { devices: texts } = visit.texts;
  const states = Object.keys(stateLabels) as ListedDevice['state']['value'][];
  return filterForm(visit, [
    { name: 'orgId', label: texts.organization, required: true },
    { name: 'search', label: texts.search, type: 'search' },
    {
      ...{ name: 'state', label: texts.state },
      options: [
        { value: '', label: texts.anyState },
        ...states.map((value) => ({ value, label: labelOf(stateLabels[value], visit) })),
      ],
    },
    { name: 'productId', label: texts.productId },
  ]);
}

function organizationTable({ items, next }: Page<OrganizationView>, visit: Visit): Html {
  const { devices: texts, organizations } = visit.texts;
  return card(
    texts.choose,
    table(visit, {
      caption: texts.choose,
      columns: [
        {
          label: organizations.name,
          cell: ({ id, name }) =>
            html`<a href="${addressWith(visit, { orgId: id })}">${foreignName(name)}</a>`,
        },
        { label: organizations.id, cell: ({ id }) => html`<code translate="no">${id}</code>` },
      ],
      rows: items,
      next,
      cursorName: 'organizations',
      empty: organizations.empty,
    }),
  );
}

function deviceTable(
  { id: orgId }: OrganizationView,
  page: Page<ListedDevice>,
  visit: Visit,
): Html {
  const { devices: texts } = visit.texts;
  return table(visit, {
    caption: texts.title,
    columns: [
      {
        label: texts.name,
        cell: ({ id, name }) =>
          html`<div class="entry"><a href="${pathTo(DEVICE_PATH, { orgId, id })}">${foreignName(name)}</a><small translate="no">${id}</small></div>`,
      },
      { label: texts.state, cell: (device) => stateOf(device, visit) },
      { label: texts.product, cell: (device) => productLink(orgId, device) },
      { label: texts.online, cell: ({ onlineTime }) => momentOf(onlineTime, visit) },
    ],
    rows: page.items,
    next: page.next,
    empty: texts.empty,
  });
}

export const device: Screen = screen({
  path: DEVICE_PATH,
  requires: 'operator:read',
  query: z.object({}),
  async load({ operators, operator, parameters: { orgId = '', id = '' } }) {
    if (operators.devices === undefined) {
      return undefined;
    }
    const organization = await operators.organizations.read(orgId);
    const [found, items] = await Promise.all([
      operators.devices.read(operator, orgId, id),
      operators.requests.ofOrganization({ orgId, operations: calls, limit: CALLS }),
    ]);
    return { organization, found, items };
  },
  title: ({ found }) => plainName(found.name),
  trail: ({ organization: { id, name } }, { texts }) => [
    { address: DEVICES_PATH, label: texts.devices.title },
    { address: listAddress(id), label: plainName(name) },
  ],
  tools({ found: { id } }, { texts, explorerUrl }) {
    const operation = new URLSearchParams({ operation: 'device.detail', deviceId: id });
    return explorerUrl === undefined
      ? undefined
      : html`<a class="button" href="${explorerUrl}#${String(operation)}">${texts.devices.explore}</a>`;
  },
  view({ organization, found, items }, visit) {
    const { devices: texts } = visit.texts;
    const { protocol, transport, address, configuration, tags } = found;
    const foreign = (text: string) => (text === '' ? undefined : foreignName(text));
    const details = definitions([
      [texts.id, copyable(found.id, visit.texts.frame)],
      [texts.state, stateOf(found, visit)],
      [texts.product, productLink(organization.id, found)],
      [texts.organization, organizationLink(organization.id)],
      [texts.kind, labelOf(deviceTypeLabels[found.deviceType.value], visit)],
      [texts.protocol, foreign([protocol, transport].filter(Boolean).join(', '))],
      [texts.address, foreign(address)],
      [texts.online, momentOf(found.onlineTime, visit)],
      [texts.offline, momentOf(found.offlineTime, visit)],
      [texts.created, momentOf(found.createTime, visit)],
      // A value can be a secret of the device.
      [texts.configuration, foreign(Object.keys(configuration).join(', '))],
      [texts.tags, foreign(tags.map(({ key, value }) => `${key}: ${value}`).join(', '))],
    ]);
    return html`${card(texts.details, details)}
${card(
  texts.calls,
  html`<p class="hint">${texts.callsHint}</p>
${requestTable({ items }, visit, { empty: texts.noCalls })}`,
)}`;
  },
});

const listAddress = (orgId: string, more: Readonly<Record<string, string>> = {}) =>
  addressWith({ path: DEVICES_PATH, search: new URLSearchParams() }, { orgId, ...more });

const labelOf = (label: Readonly<Record<'en' | 'zh', string>>, { texts }: { texts: Texts }) =>
  label[texts.language === 'en' ? 'en' : 'zh'];

/** @param at 0 means never */
const momentOf = (at: number, visit: Visit) => (at === 0 ? undefined : time(at, visit));

const stateOf = ({ state: { value } }: Pick<ListedDevice, 'state'>, visit: Visit): Html =>
  status(value === 'online' ? 'good' : 'quiet', labelOf(stateLabels[value], visit));

const productLink = (orgId: string, { productId, productName }: ListedDevice): Html =>
  html`<a href="${listAddress(orgId, { productId })}">${foreignName(productName)}</a>`;
