/** Devices: those of one organization, and one device with the latest calls of its organization. */
import { operations as apiOperations, stateLabels } from '@gatehouse/device-api';
import { type DeviceView, deviceFilter } from '@gatehouse/operators';
import { foreignName, type Html, html, plainName, sentence } from '@gatehouse/server';
import { z } from 'zod';
import { type Screen, screen, type Visit } from '../frame/screen.ts';
import { addressWith, pathTo } from '../view/addresses.ts';
import { choices, filterForm } from '../view/forms.ts';
import {
  card,
  code,
  copyable,
  definitions,
  entry,
  organizationLink,
  status,
  table,
  time,
} from '../view/parts.ts';
import { organizationTable } from './organizations.ts';
import { requestTable } from './requests.ts';

const LIST_PATH = '/devices';
const PATH = '/devices/:orgId/:id';
/** Of the latest requests of the organization, which are the most that a list can have. */
const REQUESTS = 1000;
const CALLS = 20;

const ofOneDevice = apiOperations.filter(({ paths: [path = ''] }) => path.includes('{deviceId}'));
const calls = new Set<string>(ofOneDevice.map(({ name }) => name));

/** One organization at a time: its id is in the URL. */
export const devices: Screen = screen({
  path: LIST_PATH,
  query: deviceFilter.extend({ orgId: z.string().optional() }),
  async load({ operators, operator, query: { orgId, ...filter } }) {
    if (operators.devices === undefined) {
      return {};
    }
    if (orgId === undefined) {
      return { organizations: await operators.organizations.list({ cursor: filter.cursor }) };
    }
    const { name } = await operators.organizations.read(orgId);
    return { found: { orgId, name, ...(await operators.devices.list(operator, orgId, filter)) } };
  },
  title: (_data, { texts }) => texts.devices.title,
  view({ organizations, found }, visit) {
    const { devices: texts, common } = visit.texts;
    const lead = html`<p class="lead">${texts.lead}</p>`;
    if (organizations !== undefined) {
      const addressOf = (orgId: string) => addressWith(visit, { orgId, cursor: undefined });
      return html`${lead}${card(texts.choose, organizationTable(organizations, visit, addressOf))}`;
    }
    if (found === undefined) {
      const variable = code('DEVICE_SERVICE_URL');
      return html`${lead}<p class="empty">${sentence(texts.unset, { variable })}</p>`;
    }
    const { orgId, name: organizationName, items: rows, next } = found;
    const list = table(visit, {
      caption: texts.title,
      columns: [
        {
          label: common.name,
          cell: ({ id, name }) =>
            entry(
              html`<a href="${pathTo(PATH, { orgId, id })}">${foreignName(name)}</a>`,
              code(id),
            ),
        },
        { label: common.state, cell: (device) => stateOf(device, visit) },
        { label: texts.product, cell: (device) => productLink(orgId, device) },
        { label: texts.online, cell: ({ onlineTime }) => momentOf(onlineTime, visit) },
      ],
      ...{ rows, next, empty: texts.empty },
    });
    return html`${lead}${filters(visit)}${card(plainName(organizationName), list)}`;
  },
});

function filters(visit: Visit): Html {
  const { devices: texts, common } = visit.texts;
  const states = Object.keys(stateLabels) as DeviceView['state']['value'][];
  const options = choices(visit, states, (value) => stateName(value, visit));
  return filterForm(visit, [
    { name: 'orgId', label: common.organization, required: true },
    { name: 'search', label: common.search, type: 'search' },
    { name: 'state', label: common.state, options },
    { name: 'productId', label: texts.productId },
  ]);
}

export const device: Screen = screen({
  path: PATH,
  async load({ operators, operator, parameters: { orgId = '', id = '' } }) {
    const [organization, found, { items }] = await Promise.all([
      operators.organizations.read(orgId),
      operators.devices?.read(operator, orgId, id),
      operators.requests.list({ orgId, limit: REQUESTS }),
    ]);
    const ofDevices = items.filter((each) => each.verified && calls.has(each.operation));
    return found && { organization, found, items: ofDevices.slice(0, CALLS) };
  },
  title: ({ found }) => plainName(found.name),
  trail: ({ organization: { id, name } }, { texts }) => [
    { address: LIST_PATH, label: texts.devices.title },
    { address: listAddress(id), label: plainName(name) },
  ],
  tools({ found: { id } }, { texts, explorerUrl }) {
    const operation = new URLSearchParams({ operation: 'device.detail', deviceId: id });
    return explorerUrl === undefined
      ? undefined
      : html`<a class="button" href="${explorerUrl}#${String(operation)}">${texts.devices.explore}</a>`;
  },
  view({ organization, found, items }, visit) {
    const { devices: texts, common } = visit.texts;
    const { protocol, transport, address, tags } = found;
    // The address of a device that never connected is a slash.
    const foreign = (words: readonly string[]) => {
      const known = words.filter((word) => !['', '/'].includes(word));
      return known.length === 0 ? undefined : foreignName(known.join(', '));
    };
    // Not the configuration: its values can be secrets of the device.
    const details = definitions([
      [texts.id, copyable(found.id, visit.texts.frame)],
      [common.state, stateOf(found, visit)],
      [texts.product, productLink(organization.id, found)],
      [common.organization, organizationLink(organization.id)],
      [texts.connection, foreign([protocol, transport, address])],
      [texts.online, momentOf(found.onlineTime, visit)],
      [common.created, momentOf(found.createTime, visit)],
      [texts.tags, foreign(tags.map(({ key, value }) => `${key}: ${value}`))],
    ]);
    return html`${card(common.details, details)}
${card(texts.calls, html`<p class="hint">${texts.callsHint}</p>${requestTable({ items }, visit)}`)}`;
  },
});

const listAddress = (orgId: string, more: Readonly<Record<string, string>> = {}) =>
  addressWith({ path: LIST_PATH, search: new URLSearchParams() }, { orgId, ...more });

/** @param at 0 means never */
const momentOf = (at: number, visit: Visit) => (at === 0 ? undefined : time(at, visit));

const stateName = (value: DeviceView['state']['value'], { texts: { language } }: Visit): string =>
  stateLabels[value][language === 'en' ? 'en' : 'zh'];

const stateOf = ({ state: { value } }: Pick<DeviceView, 'state'>, visit: Visit): Html =>
  status(value === 'online' ? 'good' : 'quiet', stateName(value, visit));

type Product = Pick<DeviceView, 'productId' | 'productName'>;
const productLink = (orgId: string, { productId, productName }: Product): Html =>
  html`<a href="${listAddress(orgId, { productId })}">${foreignName(productName)}</a>`;
