/** One client: its use, scopes, redirect URIs, limits and migration, and what changes or ends it. */
import { identityScopes, knownScopes } from '@gatehouse/identity';
import type { AtLeast } from '@gatehouse/operators';
import { fill, foreignName, type Html, html, plainName, sentence } from '@gatehouse/server';
import { z } from 'zod';
import { type Act, act, type Outcome, type Screen, screen, type Visit } from '../frame/screen.ts';
import { pathTo } from '../view/addresses.ts';
import { actForm, destroyLink } from '../view/forms.ts';
import {
  type Column,
  card,
  copyable,
  counted,
  definitions,
  number,
  table,
  tabs,
} from '../view/parts.ts';
import type { Texts } from '../view/texts-en.ts';
import { type ClientData, keyActs, keysTab } from './client-keys.ts';
import { migrationTab } from './client-migration.ts';
import { changeRedirects, redirectsTab } from './client-redirects.ts';
import { CLIENT_PATH, kindOf, LIST_PATH, logLinks, stateOf, useTime } from './clients.ts';

const tabName = z.enum(['overview', 'keys', 'redirects', 'migration']);
type Tab = z.output<typeof tabName>;

export const client: Screen = screen({
  path: CLIENT_PATH,
  requires: 'operator:read',
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
    const tab: Tab = visit.attempt?.act === 'redirects' ? 'redirects' : visit.query.tab;
    const views = { overview, keys: keysTab, redirects: redirectsTab, migration: migrationTab };
    const names = tabName.options.map((name) => ({ name, label: texts[name] }));
    return html`${figures(data, visit)}
${tabs({ ...visit, search: new URLSearchParams({ tab }) }, texts.views, names)}
${views[tab](data, visit)}`;
  },
  acts: {
    ...keyActs,
    narrow: ending('narrow', async ({ operators, operator }, id, scope) => {
      const { client: found } = await operators.clients.read(id);
      const scopes = found.scopes.filter((each) => each !== scope);
      const condition = { ifVersion: found.version };
      await operators.clients.change(operator, id, { scopes }, condition);
      return { notice: 'saved' };
    }),
    disable: ending('disable', async ({ operators, operator }, id) => {
      await operators.clients.change(operator, id, { enabled: false });
      return { notice: 'saved' };
    }),
    revoke: ending('revoke', async ({ operators, operator }, clientId) => {
      await operators.tokens.revoke(operator, { clientId });
      return { notice: 'revoked' };
    }),
    remove: ending('remove', async ({ operators, operator }, id) => {
      await operators.clients.remove(operator, id);
      return { to: LIST_PATH, notice: 'removed' };
    }),
    redirects: changeRedirects,
    enable: act({
      fields: z.object({}),
      async run(_fields, { operators, operator, parameters: { id = '' } }) {
        await operators.clients.change(operator, id, { enabled: true });
        return { notice: 'saved' };
      },
    }),
  },
});

/** An act that takes something away from the client, with what ends as its effect. */
function ending(
  name: 'narrow' | 'disable' | 'revoke' | 'remove',
  run: (visit: Visit, clientId: string, scope: string) => Promise<Outcome>,
): Act {
  return act({
    fields: z.object({ scope: z.string().default('') }),
    async preview({ scope }, { operators, parameters: { id: clientId = '' } }) {
      const { client: found } = await operators.clients.read(clientId);
      const { tokens = 0 } = await operators.tokens.previewRevocation({ clientId });
      return { found, tokens, scope };
    },
    confirm({ found, tokens, scope }, { texts }) {
      const { [name]: button, tokenCount, keyCount, clientCount } = texts.clients;
      const { [`${name}Title` as const]: title, [`${name}Effect` as const]: effect } =
        texts.clients;
      return {
        title: fill(title, { name: plainName(found.name), scope }),
        effect: html`<p>${sentence(effect, {
          name: html`<strong>${foreignName(found.name)}</strong>`,
          scope: html`<code translate="no">${scope}</code>`,
          tokens: html`<strong>${counted(tokens, texts, tokenCount)}</strong>`,
          keys: counted(found.keys.length, texts, keyCount),
          clients: counted(1, texts, clientCount),
        })}</p>`,
        button,
      };
    },
    run: ({ scope }, visit) => run(visit, visit.parameters.id ?? '', scope),
  });
}

function figures({ found, use, tokens }: ClientData, visit: Visit): Html {
  const { clients: texts } = visit.texts;
  const all = use.requests.count + use.refusals.count;
  const share = all === 0 ? undefined : percent(use.refusals.count / all, visit.texts);
  const shown = ({ count, isExact }: AtLeast) => {
    const digits = number(count, visit.texts);
    return isExact ? digits : fill(texts.atLeast, { count: digits });
  };
  const figure = (label: string, value: string | Html, note?: string) =>
    html`<div><dt>${label}</dt><dd>${value}${note && html`<small>${note}</small>`}</dd></div>`;
  return html`<dl class="figures">
${figure(texts.state, stateOf(found.client, visit.texts))}
${figure(texts.lastUse, useTime(found.lastUse.at, visit))}
${figure(texts.requests, shown(use.requests), texts.day)}
${figure(texts.refusals, shown(use.refusals), share ? fill(texts.ofRequests, { share }) : texts.day)}
${figure(texts.liveTokens, number(tokens, visit.texts))}
</dl>`;
}

const percent = (share: number, { language }: Texts): string =>
  new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 }).format(share);

function overview({ found: { client }, use, resources }: ClientData, visit: Visit): Html {
  const { clients: texts, wizard } = visit.texts;
  const hasPublicKeys = client.jwks !== undefined || client.jwksUri !== undefined;
  const authentication = client.public ? 'none' : hasPublicKeys ? 'publicKeys' : 'key';
  const details = definitions([
    [texts.id, copyable(client.clientId, visit.texts.frame)],
    [texts.kind, wizard.kinds[kindOf(client)].title],
    [
      wizard.organization,
      html`<a href="${pathTo('/organizations/:id', { id: client.orgId })}">${client.orgId}</a>`,
    ],
    [texts.source, texts.sources[client.source]],
    [texts.authentication, texts.authentications[authentication]],
    [texts.grants, client.grantTypes.map(shortGrant).join(', ') || texts.none],
    [texts.signatures, client.keys.length === 0 ? undefined : client.signatureAlgorithm],
    [
      texts.firstParty,
      client.redirectUris.length === 0
        ? undefined
        : client.firstParty
          ? texts.noConsent
          : texts.consent,
    ],
  ]);
  return html`<div class="columns">${card(texts.details, details)}${card(texts.limits, limits({ client, rate: use.rate }, visit))}</div>
${scopes({ client, resources }, visit)}
${acts(client, visit)}`;
}

const shortGrant = (name: string): string => name.replace('urn:ietf:params:oauth:grant-type:', '');

type Client = ClientData['found']['client'];

function limits(
  { client, rate }: { readonly client: Client; readonly rate: ClientData['use']['rate'] },
  visit: Visit,
): Html {
  const { clients: texts } = visit.texts;
  const lifetimes = Object.entries(client.lifetimes ?? {}).map(
    ([name, seconds]) => `${name}: ${number(Number(seconds), visit.texts)} s`,
  );
  const perMinute = rate ? (rate.requests / rate.windowSeconds) * 60 : 0;
  return definitions([
    [
      texts.rate,
      rate
        ? fill(texts.rateValue, {
            requests: number(rate.requests, visit.texts),
            seconds: number(rate.windowSeconds, visit.texts),
          })
        : texts.unknownRate,
    ],
    [
      texts.busiest,
      rate &&
        fill(texts.ofLimit, {
          count: number(rate.busiestMinute, visit.texts),
          share: percent(rate.busiestMinute / perMinute, visit.texts),
        }),
    ],
    [texts.lifetimes, lifetimes.join(', ') || texts.installation],
    [texts.addresses, client.ipAllowList.join(', ') || texts.anyState],
  ]);
}

function scopes(
  { client, resources }: { readonly client: Client; readonly resources: ClientData['resources'] },
  visit: Visit,
): Html {
  const { clients: texts } = visit.texts;
  const resourceOf = (scope: string) => {
    const declared = resources.find((each) => Object.hasOwn(each.scopes, scope));
    const isOf = (known: readonly string[]) => known.includes(scope);
    const builtIn = isOf(identityScopes) ? texts.openId : texts.deviceApi;
    return declared?.resource ?? (isOf(knownScopes) ? builtIn : undefined);
  };
  const lead = html`<p class="hint">${texts.scopesLead}</p>`;
  const columns: readonly Column<{ scope: string; resource: string | undefined }>[] = [
    { label: texts.scope, cell: ({ scope }) => html`<code translate="no">${scope}</code>` },
    { label: texts.resource, cell: ({ resource }) => resource },
    {
      label: texts.narrow,
      cell: ({ scope }) =>
        destroyLink(visit, { act: 'narrow', label: texts.narrow, fields: { scope } }),
    },
  ];
  return card(
    texts.scopes,
    html`${client.scopes.length === 0 ? undefined : lead}${table(visit, {
      caption: texts.scopes,
      columns: visit.mayWrite ? columns : columns.slice(0, 2),
      rows: client.scopes.map((scope) => ({ scope, resource: resourceOf(scope) })),
      empty: texts.noScopes,
    })}`,
  );
}

function acts(client: Client, visit: Visit): Html | undefined {
  const { clients: texts } = visit.texts;
  const { enabled, source } = client;
  const buttons = html`<div class="tools">
${enabled ? destroyLink(visit, { act: 'disable', label: texts.disable }) : actForm(visit, { act: 'enable', button: texts.enable, isPrimary: false })}
${destroyLink(visit, { act: 'revoke', label: texts.revoke })}
${source === 'document' ? undefined : destroyLink(visit, { act: 'remove', label: texts.remove })}
</div>`;
  return visit.mayWrite
    ? card(texts.access, html`<p class="hint">${texts.accessLead}</p>${buttons}`)
    : undefined;
}
