/** The settings of the installation, and what its processes report. */
import { type Operators, settingsMember } from '@gatehouse/operators';
import { type Html, html } from '@gatehouse/server';
import { z } from 'zod';
import { SUPPORT_BUNDLE_PATH } from '../frame/exports.ts';
import { type Screen, screen, type Visit } from '../frame/screen.ts';
import { pathTo } from '../view/addresses.ts';
import { card, code, definitions, tableCard, tabs } from '../view/parts.ts';
import { changing, noting } from './acts.ts';
import { FINDINGS_PATH } from './findings.ts';
import { configurationView, processView, routeView } from './processes.ts';

export const SETTINGS_PATH = '/settings';
export const MEMBER_PATH = '/settings/:member';
const PROCESSES = `${SETTINGS_PATH}?tab=processes`;

const tabName = z.enum(['declared', 'processes', 'routes', 'configuration']);
const views = { processes: processView, routes: routeView, configuration: configurationView };

export const settings: Screen = screen({
  path: SETTINGS_PATH,
  query: z.object({ tab: tabName.default('declared') }),
  async load({ operators, query: { tab } }) {
    return tab === 'declared'
      ? { tab, found: await operators.settings.read() }
      : { tab, processes: await operators.installation.processes() };
  },
  title: (_data, { texts }) => texts.settings.title,
  tools: (
    _data,
    { texts },
  ) => html`<a class="button" href="${FINDINGS_PATH}">${texts.findings.title}</a>
<a class="button" href="${SUPPORT_BUNDLE_PATH}" download>${texts.settings.supportBundle}</a>`,
  view(data, visit) {
    const { settings: texts } = visit.texts;
    const names = tabName.options.map((name) => ({ name, label: texts[name] }));
    const content =
      data.tab === 'declared'
        ? declared(data.found, visit)
        : views[data.tab](data.processes, visit);
    return html`${tabs(visit, texts.views, names)}${content}`;
  },
  acts: {
    reload: changing(({ operators, operator }) =>
      operators.installation.reload(operator).then(noting('reloading', PROCESSES)),
    ),
  },
});

export type DeclaredSettings = Awaited<ReturnType<Operators['settings']['read']>>;

function declared({ settings: members, effective }: DeclaredSettings, visit: Visit): Html {
  const { settings: texts, common } = visit.texts;
  const { roles, lifetimes } = effective;
  return html`<p class="lead">${texts.lead}</p>
${tableCard(visit, {
  caption: texts.members,
  columns: [
    {
      label: texts.member,
      cell: (member) => html`<a href="${pathTo(MEMBER_PATH, { member })}">${code(member)}</a>`,
    },
    { label: texts.meaning, cell: (member) => texts.meanings[member] },
    { label: texts.value, cell: (member) => summary(members[member], visit) },
  ],
  rows: settingsMember.options,
  empty: '',
})}
${card(
  texts.effective,
  definitions([
    [common.roles, roles.join(', ') || common.none],
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
export function summary(value: unknown, { texts: { common } }: Visit): Html {
  const isEmpty = value === undefined || Object.keys(Object(value)).length === 0;
  const text = JSON.stringify(value) ?? '';
  const isLong = text.length > SUMMARY_CHARACTERS;
  return isEmpty
    ? html`${common.none}`
    : code(isLong ? `${text.slice(0, SUMMARY_CHARACTERS)}…` : text);
}
