/** One client: its use, scopes, redirect URIs, limits and migration, and what changes or ends it. */
import {
  CONSOLE_CLIENT_ID,
  identityScopes,
  knownScopes,
  operatorScopes,
} from '@gatehouse/identity';
import { fill, type Html, html, plainName } from '@gatehouse/server';
import { z } from 'zod';
import { type Act, type Outcome, type Screen, screen, type Visit } from '../frame/screen.ts';
import { actForm, destroyLink } from '../view/forms.ts';
import {
  type Column,
  card,
  code,
  copyable,
  definitions,
  enabledState,
  figures,
  lastTime,
  number,
  organizationLink,
  percent,
  table,
  tabs,
} from '../view/parts.ts';
import type { Texts } from '../view/texts-en.ts';
import { changing, ending, noting } from './acts.ts';
import { type ClientData, keyActs, keysTab } from './client-keys.ts';
import { migrationTab } from './client-migration.ts';
import { changeRedirects, redirectsTab } from './client-redirects.ts';
import { CLIENT_PATH, kindOf, LIST_PATH, logLinks } from './clients.ts';

const tabName = z.enum(['overview', 'keys', 'redirects', 'migration']);

export const client: Screen = screen({
  path: CLIENT_PATH,
  query: z.object({ tab: tabName.default('overview'), uri: z.string().max(2000).optional() }),
  async load({ operators, parameters: { id: clientId = '' } }) {
    const [found, use, { tokens = 0 }, { settings }] = await Promise.all([
      operators.clients.read(clientId),
      operators.clients.use(clientId),
      operators.tokens.previewRevocation({ clientId }),
      operators.settings.read(),
    ]);
    return { found, use, tokens, resources: settings.resources };
  },
  title: ({ found }) => plainName(found.client.name),
  trail: (_data, { texts }) => [{ address: LIST_PATH, label: texts.clients.title }],
  tools: ({ found }, { texts }) => logLinks({ clientId: found.client.clientId }, texts),
  view(data, visit) {
    const { clients: texts } = visit.texts;
    const tab = visit.attempt?.act === 'redirects' ? 'redirects' : visit.query.tab;
    const views = { overview, keys: keysTab, redirects: redirectsTab, migration: migrationTab };
    const { overview: start, keys } = visit.texts;
    const labels = { ...texts, ...visit.texts.common, overview: start.title, keys: keys.title };
    const names = tabName.options.map((name) => ({ name, label: labels[name] }));
    const mayWrite = visit.mayWrite && !isBuiltIn(data.found.client);
    const place = { ...visit, mayWrite, search: new URLSearchParams({ tab }) };
    return html`${summary(data, visit)}
${tabs(place, visit.texts.common.views, names)}
${views[tab](data, place)}`;
  },
  acts: {
    ...keyActs,
    narrow: endingOf('narrow', async ({ operators, operator }, id, scope) => {
      const { client: found } = await operators.clients.read(id);
      const scopes = found.scopes.filter((each) => each !== scope);
      const condition = { ifVersion: found.version };
      await operators.clients.change(operator, id, { scopes }, condition);
      return { notice: 'saved' };
    }),
    disable: endingOf('disable', ({ operators, operator }, id) =>
      operators.clients.change(operator, id, { enabled: false }).then(noting('saved')),
    ),
    revoke: endingOf('revoke', ({ operators, operator }, clientId) =>
      operators.tokens.revoke(operator, { clientId }).then(noting('revoked')),
    ),
    remove: endingOf('remove', ({ operators, operator }, id) =>
      operators.clients.remove(operator, id).then(noting('removed', LIST_PATH)),
    ),
    redirects: changeRedirects,
    enable: changing(({ operators, operator }, id) =>
      operators.clients.change(operator, id, { enabled: true }).then(noting('saved')),
    ),
  },
});

function endingOf(
  name: keyof Texts['clients']['acts'],
  run: (visit: Visit, clientId: string, scope: string) => Promise<Outcome>,
): Act {
  return ending({
    fields: z.object({ scope: z.string().default('') }),
    texts: ({ clients }) => clients.acts[name],
    async names({ scope }, { operators }, clientId) {
      const { client: found } = await operators.clients.read(clientId);
      const { tokens = 0 } = await operators.tokens.previewRevocation({ clientId });
      return { name: found.name, scope, tokens, keys: found.keys.length, clients: 1 };
    },
    run: ({ scope }, visit, id) => run(visit, id, scope),
  });
}

function summary({ found, use, tokens }: ClientData, visit: Visit): Html {
  const { clients: texts, common } = visit.texts;
  const all = use.requests.count + use.refusals.count;
  const share = all === 0 ? undefined : percent(use.refusals.count / all, visit.texts);
  const shown = ({ count, isExact }: ClientData['use']['requests']) => {
    const digits = number(count, visit.texts);
    return isExact ? digits : fill(texts.atLeast, { count: digits });
  };
  return figures([
    [common.state, enabledState(found.client.enabled, visit.texts)],
    [common.lastUse, lastTime(found.lastUse.at, visit)],
    [common.succeeded, shown(use.requests), texts.day],
    [common.failed, shown(use.refusals), share ? fill(common.share, { share }) : texts.day],
    [texts.liveTokens, number(tokens, visit.texts)],
  ]);
}

function overview({ found: { client }, use, resources }: ClientData, visit: Visit): Html {
  const { clients: texts, common, wizard } = visit.texts;
  const hasPublicKeys = client.jwks !== undefined || client.jwksUri !== undefined;
  const authentication = client.public ? 'none' : hasPublicKeys ? 'publicKeys' : 'key';
  const consent = client.firstParty ? texts.noConsent : texts.consent;
  const details = definitions([
    [common.clientId, copyable(client.clientId, visit.texts.frame)],
    [common.kind, wizard.kinds[kindOf(client)].title],
    [common.organization, client.orgId === '' ? undefined : organizationLink(client.orgId)],
    [texts.source, texts.sources[isBuiltIn(client) ? 'builtIn' : client.source]],
    [texts.authentication, texts.authentications[authentication]],
    [texts.grants, client.grantTypes.map(shortGrant).join(', ') || common.none],
    [texts.signatures, client.keys.length === 0 ? undefined : client.signatureAlgorithm],
    [texts.firstParty, client.redirectUris.length === 0 ? undefined : consent],
  ]);
  return html`<div class="columns">${card(common.details, details)}${card(texts.limits, limits(client, use.rate, visit))}</div>
${scopes(client, resources, visit)}
${acts(client, visit)}`;
}

const shortGrant = (name: string): string => name.replace('urn:ietf:params:oauth:grant-type:', '');

type Client = ClientData['found']['client'];

/** It has no record, so nothing can change it. */
const isBuiltIn = ({ clientId }: Client): boolean => clientId === CONSOLE_CLIENT_ID;

function limits(client: Client, rate: ClientData['use']['rate'], visit: Visit): Html {
  const { clients: texts, common, requests } = visit.texts;
  const lifetimes = Object.entries(client.lifetimes ?? {}).map(
    ([name, seconds]) => `${name}: ${number(Number(seconds), visit.texts)} s`,
  );
  const shown = (value: number) => number(value, visit.texts);
  const limit =
    rate &&
    fill(texts.rateValue, { requests: shown(rate.requests), seconds: shown(rate.windowSeconds) });
  const busiest =
    rate &&
    fill(texts.ofLimit, {
      count: shown(rate.busiestMinute),
      share: percent(rate.busiestMinute / ((rate.requests / rate.windowSeconds) * 60), visit.texts),
    });
  return definitions([
    [requests.title, limit ?? texts.unknownRate],
    [texts.busiest, busiest],
    [texts.lifetimes, lifetimes.join(', ') || texts.installation],
    [texts.addresses, client.ipAllowList.join(', ') || common.all],
  ]);
}

function scopes(client: Client, resources: ClientData['resources'], visit: Visit): Html {
  const { clients: texts, common } = visit.texts;
  const builtIn = new Map<string, string>([
    ...knownScopes.map((scope) => [scope, common.deviceApi] as const),
    ...identityScopes.map((scope) => [scope, 'OpenID Connect'] as const),
    ...operatorScopes.map((scope) => [scope, common.managementApi] as const),
  ]);
  const resourceOf = (scope: string) =>
    resources.find((each) => Object.hasOwn(each.scopes, scope))?.resource ?? builtIn.get(scope);
  const columns: readonly Column<string>[] = [
    { label: common.scopes, cell: code },
    { label: common.resource, cell: resourceOf },
    {
      label: texts.acts.narrow.button,
      cell: (scope) =>
        destroyLink(visit, { act: 'narrow', label: texts.acts.narrow.button, fields: { scope } }),
    },
  ];
  return card(
    common.scopes,
    html`${client.scopes.length > 0 && visit.mayWrite ? html`<p class="hint">${texts.scopesLead}</p>` : undefined}
${table(visit, {
  caption: common.scopes,
  columns: visit.mayWrite ? columns : columns.slice(0, 2),
  rows: client.scopes,
  empty: texts.noScopes,
})}`,
  );
}

function acts({ enabled, source }: Client, visit: Visit): Html | undefined {
  const { clients: texts, common } = visit.texts;
  const link = (act: keyof typeof texts.acts) =>
    destroyLink(visit, { act, label: texts.acts[act].button });
  const buttons = html`<div class="tools">
${enabled ? link('disable') : actForm(visit, { act: 'enable', button: common.enable, isPrimary: false })}
${link('revoke')}
${source === 'document' ? undefined : link('remove')}
</div>`;
  return visit.mayWrite
    ? card(texts.access, html`<p class="hint">${common.effectFirst}</p>${buttons}`)
    : undefined;
}
