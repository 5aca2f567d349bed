/** The settings of the installation, and the processes with the configuration that each has in effect. */
import type { ProcessEntry } from '@gatehouse/identity';
import { settingsMember } from '@gatehouse/operators';
import { type Html, html } from '@gatehouse/server';
import { z } from 'zod';
import { type Screen, screen, type Visit } from '../frame/screen.ts';
import { pathTo } from '../view/addresses.ts';
import { card, definitions, live, status, type Tone, table, tabs, time } from '../view/parts.ts';

export const SETTINGS_PATH = '/settings';
export const MEMBER_PATH = '/settings/:member';

const tabName = z.enum(['declared', 'processes', 'configuration']);

export const settings: Screen = screen({
  path: SETTINGS_PATH,
  requires: 'operator:read',
  query: z.object({ tab: tabName.default('declared') }),
  async load({ operators, query: { tab } }) {
    return tab === 'declared'
      ? { tab, found: await operators.settings.read() }
      : { tab, processes: await operators.figures.processes() };
  },
  title: (_data, { texts }) => texts.settings.title,
  view(data, visit) {
    const { settings: texts } = visit.texts;
    const names = tabName.options.map((name) => ({ name, label: texts[name] }));
    const content =
      data.found !== undefined
        ? declared(data.found, visit)
        : data.tab === 'processes'
          ? live('processes', 10, processList(data.processes, visit))
          : configurations(data.processes, visit);
    return html`${tabs(visit, texts.views, names)}${content}`;
  },
});

type Found = Awaited<ReturnType<Visit['operators']['settings']['read']>>;

function declared({ settings: members, effective }: Found, visit: Visit): Html {
  const { settings: texts } = visit.texts;
  const { roles, lifetimes } = effective;
  return html`<p class="lead">${texts.lead}</p>
${card(
  texts.members,
  table(visit, {
    caption: texts.members,
    columns: [
      {
        label: texts.member,
        cell: (member) =>
          html`<a href="${pathTo(MEMBER_PATH, { member })}"><code translate="no">${member}</code></a>`,
      },
      { label: texts.meaning, cell: (member) => texts.meanings[member] },
      { label: texts.value, cell: (member) => summary(members[member], visit) },
    ],
    rows: settingsMember.options,
    empty: '',
  }),
)}
${card(
  texts.effective,
  definitions([
    [texts.roles, roles.join(', ') || texts.none],
    ...Object.entries(lifetimes).map(
      ([name, seconds]) => [name, duration(Number(seconds), visit)] as const,
    ),
  ]),
)}`;
}

const units = { day: 86_400, hour: 3600, minute: 60, second: 1 } as const;

function duration(seconds: number, { texts }: Visit): string {
  const [unit = 'second', size = 1] =
    Object.entries(units).find(([, each]) => seconds % each === 0) ?? [];
  const format = new Intl.NumberFormat(texts.language, {
    style: 'unit',
    unit,
    unitDisplay: 'long',
  });
  return format.format(seconds / size);
}

const SUMMARY_CHARACTERS = 90;

/** The beginning of the value. Its own screen has all of it. */
export function summary(value: unknown, { texts: { settings: texts } }: Visit): Html {
  const isEmpty = value === undefined || Object.keys(Object(value)).length === 0;
  const text = JSON.stringify(value) ?? '';
  const isLong = text.length > SUMMARY_CHARACTERS;
  return isEmpty
    ? html`${texts.none}`
    : html`<code translate="no">${isLong ? `${text.slice(0, SUMMARY_CHARACTERS)}…` : text}</code>`;
}

function processList(processes: readonly ProcessEntry[], visit: Visit): Html {
  const { settings: texts } = visit.texts;
  const states = (found: Readonly<Record<string, string>> = {}) =>
    html`<div class="entry">${Object.entries(found).map(
      ([name, state]) =>
        html`<div>${status(tones[state] ?? 'quiet', state)} <small>${name}</small></div>`,
    )}</div>`;
  return html`<p class="lead">${texts.processesLead}</p>
${card(
  texts.processes,
  table(visit, {
    caption: texts.processes,
    columns: [
      {
        label: texts.process,
        cell: ({ app, host, pid, worker }) =>
          html`<div class="entry" translate="no"><strong>${app}</strong><small>${host} · ${String(pid)}${worker === undefined ? '' : ` · ${worker}`}</small></div>`,
      },
      { label: texts.version, cell: ({ version }) => version },
      {
        label: texts.state,
        cell: ({ ready }) => (ready ? status('good', texts.ready) : status('bad', texts.notReady)),
      },
      { label: texts.checks, cell: ({ checks }) => states(checks) },
      { label: texts.circuits, cell: ({ circuits }) => circuits && states(circuits) },
      { label: texts.started, cell: ({ startedAt }) => time(startedAt, visit) },
      { label: texts.reported, cell: ({ checkedAt }) => time(checkedAt, visit) },
    ],
    rows: processes,
    empty: texts.noProcesses,
  }),
)}`;
}

/** Of a dependency, or of the circuit of an upstream. */
const tones: Readonly<Record<string, Tone>> = {
  ok: 'good',
  closed: 'good',
  unavailable: 'bad',
  open: 'bad',
};

/** Workers of an app have the same configuration, unless they run with different ones. */
function configurations(processes: readonly ProcessEntry[], visit: Visit): Html {
  const { settings: texts } = visit.texts;
  const groups = Map.groupBy(processes, ({ app, version, settings: found }) =>
    JSON.stringify([app, version, found]),
  );
  const cards = [...groups.values()].map((group) => {
    const [{ app = '', version = '', settings: found = [] } = {}] = group;
    const hosts = [...new Set(group.map(({ host }) => host))].join(', ');
    return html`<details class="card"><summary><strong translate="no">${app} ${version}</strong> · ${hosts}</summary>
${table(visit, {
  caption: app,
  columns: [
    { label: texts.variable, cell: ({ name }) => html`<code translate="no">${name}</code>` },
    {
      label: texts.value,
      cell: ({ value, origin }) =>
        value === undefined
          ? origin === 'default'
            ? texts.none
            : texts.secret
          : html`<code translate="no">${value}</code>`,
    },
    {
      label: texts.origin,
      cell: ({ origin }) => status(origin === 'default' ? 'quiet' : 'good', texts.origins[origin]),
    },
  ],
  rows: found,
  empty: texts.none,
})}</details>`;
  });
  return html`<p class="lead">${texts.configurationLead}</p>
${cards.length === 0 ? html`<p class="empty">${texts.noProcesses}</p>` : cards}`;
}
