/** The processes of the installation, and what each reports: readiness, routes, settings in effect. */
import type { ProcessEntry } from '@gatehouse/identity';
import { fill, type Html, html } from '@gatehouse/server';
import type { Visit } from '../frame/screen.ts';
import { actForm } from '../view/forms.ts';
import { card, code, entry, live, number, status, table, tableCard, time } from '../view/parts.ts';

/** The processes report every ten seconds. */
export const REFRESH_SECONDS = 10;

export function processCard(processes: readonly ProcessEntry[], visit: Visit): Html {
  const { settings: texts, common } = visit.texts;
  const states = (found: Readonly<Record<string, string>>, shown: (state: string) => string) =>
    Object.entries(found).map(
      ([name, state]) =>
        html`<li>${status(isGood(state) ? 'good' : 'bad', `${name}: ${shown(state)}`)}</li>`,
    );
  const answer = (state: string) => (isGood(state) ? texts.answers : texts.noAnswer);
  return tableCard(visit, {
    caption: texts.processes,
    columns: [
      {
        label: texts.process,
        cell: ({ app, host, pid, worker, version }) =>
          entry(
            html`<strong translate="no">${app}</strong>`,
            html`${host}:${String(pid)} · ${version}${
              worker === undefined
                ? undefined
                : html` · ${fill(texts.worker, { number: String(worker) })}`
            }`,
          ),
      },
      {
        label: common.state,
        cell: ({ ready }) => (ready ? status('good', texts.ready) : status('bad', texts.notReady)),
      },
      {
        label: texts.checks,
        cell: ({ checks, circuits = {} }) =>
          html`<ul class="objects">${states(checks, (state) => state)}${states(circuits, answer)}</ul>`,
      },
      { label: texts.loaded, cell: (each) => loaded(each, visit) },
      {
        label: texts.reported,
        cell: ({ checkedAt, startedAt }) =>
          entry(time(checkedAt, visit), html`${texts.started} ${time(startedAt, visit)}`),
      },
    ],
    rows: processes,
    empty: texts.noProcesses,
  });
}

/** Of a check, or of the circuit of an upstream. */
const isGood = (state: string): boolean => state === 'ok' || state === 'closed';

function loaded({ configuration, startedAt }: ProcessEntry, visit: Visit): Html {
  const { settings: texts } = visit.texts;
  if (configuration === undefined) {
    return entry(time(startedAt, visit), texts.needsRestart);
  }
  const { loadedAt, problems } = configuration;
  const listed = problems.map((each) => html`<li>${each}</li>`);
  const failure = html`${status('bad', texts.notLoaded)}<ul class="objects" lang="en">${listed}</ul>`;
  return html`<div class="entry">${time(loadedAt, visit)}${listed.length > 0 ? failure : undefined}</div>`;
}

/** With the button that lets them load their configuration again. */
export function processView(processes: readonly ProcessEntry[], visit: Visit): Html {
  const { settings: texts } = visit.texts;
  const canReload = processes.some(({ configuration }) => configuration !== undefined);
  const form = canReload ? actForm(visit, { act: 'reload', button: texts.reload }) : undefined;
  return html`<p class="lead">${texts.processesLead}</p>
${live('processes', REFRESH_SECONDS, processCard(processes, visit))}
${card(texts.reload, html`<p>${canReload ? texts.reloadLead : texts.noReload}</p>${form}`)}`;
}

export function routeView(processes: readonly ProcessEntry[], visit: Visit): Html {
  const { settings: texts, common } = visit.texts;
  const gateways = processes.filter(({ routes }) => routes !== undefined);
  const grouped = groups(
    { processes: gateways, visit },
    ({ routes }) => routes,
    (group) => {
      const { count = 0, first = [] } = group[0]?.routes ?? {};
      const answers = (name: string) =>
        group.every(({ circuits = {} }) => isGood(circuits[name] ?? 'closed'));
      const more =
        count > first.length &&
        html`<p class="hint">${fill(texts.moreRoutes, { shown: number(first.length, visit.texts), count: number(count, visit.texts) })}</p>`;
      return html`${table(visit, {
        caption: texts.routes,
        columns: [
          { label: texts.route, cell: ({ route }) => code(route) },
          {
            label: texts.upstream,
            cell: ({ upstream }) =>
              upstream === undefined
                ? texts.gateway
                : answers(upstream)
                  ? status('good', upstream)
                  : status('bad', `${upstream}: ${texts.noAnswer}`),
          },
          {
            label: texts.requires,
            cell: ({ requires }) => (requires === '' ? texts.anyCaller : code(requires)),
          },
          { label: texts.origin, cell: ({ origin }) => texts.origins[origin] },
        ],
        rows: first,
        empty: common.none,
      })}${more || undefined}`;
    },
  );
  return html`<p class="lead">${texts.routesLead}</p>${grouped}`;
}

export function configurationView(processes: readonly ProcessEntry[], visit: Visit): Html {
  const { settings: texts, common } = visit.texts;
  const grouped = groups(
    { processes, visit },
    (each) => each.settings,
    ([entry]) =>
      table(visit, {
        caption: texts.configuration,
        columns: [
          { label: texts.variable, cell: ({ name }) => code(name) },
          {
            label: texts.value,
            cell: ({ value, origin }) =>
              value === undefined
                ? origin === 'default'
                  ? common.none
                  : texts.secret
                : code(value),
          },
          {
            label: texts.origin,
            cell: ({ origin }) =>
              status(origin === 'default' ? 'quiet' : 'good', texts.origins[origin]),
          },
        ],
        rows: entry?.settings ?? [],
        empty: common.none,
      }),
  );
  return html`<p class="lead">${texts.configurationLead}</p>${grouped}`;
}

/** Processes that report the same share one part, such as the workers of an app. */
function groups(
  { processes, visit }: { readonly processes: readonly ProcessEntry[]; readonly visit: Visit },
  reported: (entry: ProcessEntry) => unknown,
  content: (group: readonly ProcessEntry[]) => Html,
): Html {
  const { settings: texts } = visit.texts;
  const found = Map.groupBy(processes, (entry) =>
    JSON.stringify([entry.app, entry.version, reported(entry)]),
  );
  const isOpen = found.size === 1 ? html` open` : undefined;
  const parts = [...found.values()].map((group) => {
    const [{ app = '', version = '' } = {}] = group;
    const hosts = [...new Set(group.map(({ host }) => host))].join(', ');
    return html`<details class="card"${isOpen}><summary><strong translate="no">${app} ${version}</strong> · ${hosts}</summary>
${content(group)}</details>`;
  });
  return parts.length === 0 ? html`<p class="empty">${texts.noProcesses}</p>` : html`${parts}`;
}
