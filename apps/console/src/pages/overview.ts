/** Whether the platform is healthy, who uses it, and why requests fail. */
import { type Figures, figurePeriod, type RecordFinding } from '@gatehouse/operators';
import { fill, type Html, html } from '@gatehouse/server';
import { z } from 'zod';
import { type Screen, screen, type Visit } from '../frame/screen.ts';
import { addressWith } from '../view/addresses.ts';
import { card, live, number, table } from '../view/parts.ts';
import { type Point, plot, type Series } from '../view/plots.ts';
import { logAddress } from '../view/request-log.ts';
import { FINDINGS_PATH, findingList } from './findings.ts';
import { processTable, REFRESH_SECONDS } from './processes.ts';
import { clientLink, duration, reasonCell } from './request-parts.ts';

const query = z.object({ period: figurePeriod.default('24h') });
type Place = Visit<z.output<typeof query>>;

/** All refusals of one kind fit, and the rest has a screen of its own. */
const REFUSALS = 16;
const CLIENTS = 8;
const FINDINGS = 4;
const OBJECTS = 3;

export const overview: Screen = screen({
  path: '/overview',
  requires: 'operator:read',
  query,
  async load({ operators, query: { period } }) {
    const [figures, processes, found] = await Promise.all([
      operators.figures.read(period),
      operators.installation.processes(),
      operators.findings.list(),
    ]);
    return { figures, processes, found };
  },
  title: (_data, { texts }) => texts.overview.title,
  tools: (_data, visit) => periodLinks(visit),
  view: ({ figures, processes, found }, visit) =>
    live(
      'overview',
      REFRESH_SECONDS,
      html`${tiles(figures, visit)}
<div class="columns">${outcomes(figures, visit)}${latency(figures, visit)}</div>
<div class="columns"><div>${refusals(figures, visit)}${topClients(figures, visit)}${verifications(figures, visit)}</div><div>${attention(found, visit)}${grants(figures, visit)}</div></div>
${card(visit.texts.settings.processes, processTable(processes, visit))}`,
    ),
});

function periodLinks(visit: Place): Html {
  const { overview: texts } = visit.texts;
  const links = figurePeriod.options.map((period) => {
    const here = period === visit.query.period ? html` aria-current="true"` : undefined;
    return html`<a href="${addressWith(visit, { period })}"${here}>${texts.periods[period]}</a>`;
  });
  return html`<nav class="periods" aria-label="${texts.period}">${links}</nav>`;
}

const sum = (counts: readonly { readonly count: number }[]): number =>
  counts.reduce((total, { count }) => total + count, 0);

function tiles(figures: Figures, visit: Place): Html {
  const { overview: texts } = visit.texts;
  const all = sum(figures.outcomes);
  const failures = sum(
    figures.outcomes.filter(({ name }) => name === 'refused' || name === 'failed'),
  );
  const percent = new Intl.NumberFormat(visit.texts.language, {
    style: 'percent',
    maximumFractionDigits: 1,
  });
  const share =
    all === 0 ? undefined : fill(texts.share, { share: percent.format(failures / all) });
  const latencyOf = (milliseconds: number | undefined) =>
    milliseconds === undefined ? '–' : duration(milliseconds, visit);
  const tile = (label: string, value: string, note?: string) =>
    html`<div><dt>${label}</dt><dd>${value}${note && html` <span class="aside">${note}</span>`}</dd></div>`;
  return html`<dl class="tiles">
${tile(texts.requests, number(all, visit.texts))}
${tile(texts.failures, number(failures, visit.texts), share)}
${tile(texts.p50, latencyOf(figures.p50))}
${tile(texts.p99, latencyOf(figures.p99))}
${tile(texts.tokens, number(sum(figures.tokens), visit.texts))}
</dl>`;
}

function outcomes({ points }: Figures, visit: Place): Html {
  const { overview: texts } = visit.texts;
  const colors = { success: 'good', refused: 'warning', failed: 'bad', aborted: 'second' } as const;
  const series = (['success', 'refused', 'failed', 'aborted'] as const).map((name) => ({
    ...{ name, label: texts.outcome[name], color: colors[name] },
  }));
  const shown = points.map(({ at, outcomes: values }) => ({ at, values }));
  const title = texts.outcomes;
  return card(title, plot(visit, { title, series, points: shown, kind: 'areas' }));
}

function latency({ points }: Figures, visit: Place): Html {
  const { overview: texts } = visit.texts;
  const series: readonly Series[] = [
    { name: 'p50', label: texts.latencies.p50, color: 'first' },
    { name: 'p99', label: texts.latencies.p99, color: 'second' },
  ];
  const shown = points.map(({ at, p50, p99 }) => ({ at, values: { p50, p99 } }));
  const title = texts.latency;
  return card(title, plot(visit, { title, series, points: shown, kind: 'lines', unit: 'ms' }));
}

const palette = ['first', 'second', 'third', 'fourth'] as const;

/** The most frequent members have a color, and the others share one. */
function ranking(
  title: string,
  names: readonly string[],
  points: readonly Point[],
  visit: Place,
): Html {
  const { others, none } = visit.texts.overview;
  if (names.length === 0) {
    return card(title, html`<p class="empty">${none}</p>`);
  }
  const own = names.slice(0, palette.length);
  const rest = names.slice(palette.length);
  const series: readonly Series[] = [
    ...own.map((name, index) => ({ name, label: name, color: palette[index] ?? 'first' })),
    ...(rest.length > 0 ? [{ name: '', label: others, color: 'quiet' as const }] : []),
  ];
  const shown = points.map(({ at, values }) => ({
    at,
    values: { ...values, '': rest.reduce((total, name) => total + (values[name] ?? 0), 0) },
  }));
  return card(title, plot(visit, { title, series, points: shown, kind: 'areas' }));
}

function grants({ points, tokens }: Figures, visit: Place): Html {
  const shown = points.map(({ at, tokens: values }) => ({ at, values }));
  return ranking(
    visit.texts.overview.grants,
    tokens.map(({ name }) => name),
    shown,
    visit,
  );
}

/** A name is a kind and a result, such as `bearer accepted`. */
function verifications({ points, verifications: counted }: Figures, visit: Place): Html {
  const kindOf = (name: string) => name.split(' ', 1)[0] ?? name;
  const byKind = (counts: Readonly<Record<string, number>>) => {
    const values: Record<string, number> = {};
    for (const [name, count] of Object.entries(counts)) {
      values[kindOf(name)] = (values[kindOf(name)] ?? 0) + count;
    }
    return values;
  };
  const shown = points.map(({ at, verifications: counts }) => ({ at, values: byKind(counts) }));
  const kinds = [...new Set(counted.map(({ name }) => kindOf(name)))];
  return ranking(visit.texts.overview.verifications, kinds, shown, visit);
}

function refusals({ reasons, since }: Figures, visit: Place): Html {
  const { overview: texts } = visit.texts;
  return card(
    texts.refusals,
    table(visit, {
      caption: texts.refusals,
      columns: [
        {
          label: texts.reason,
          cell: ({ name }) => reasonCell(name, logAddress({ reason: name }, since)),
        },
        { label: texts.count, isNumber: true, cell: ({ count }) => number(count, visit.texts) },
      ],
      rows: reasons.slice(0, REFUSALS),
      empty: texts.noRefusals,
    }),
  );
}

function attention(found: readonly RecordFinding[], visit: Place): Html {
  const { overview: texts } = visit.texts;
  const all = html`<a class="button" href="${FINDINGS_PATH}">${texts.allFindings}</a>`;
  return found.length === 0
    ? card(texts.findings, html`<p class="empty">${texts.noFindings}</p>`)
    : card(texts.findings, findingList(found.slice(0, FINDINGS), visit, OBJECTS), all);
}

function topClients({ clients, failingClients, since }: Figures, visit: Place): Html {
  const { overview: texts } = visit.texts;
  const failed = new Map(failingClients.map(({ name, count }) => [name, count]));
  const rows = clients.slice(0, CLIENTS).map(({ name, count }) => ({ name, count }));
  const known = new Set(rows.map(({ name }) => name));
  const onlyFailing = failingClients
    .filter(({ name }) => !known.has(name))
    .slice(0, CLIENTS - rows.length)
    .map(({ name }) => ({ name, count: 0 }));
  return card(
    texts.clients,
    table(visit, {
      caption: texts.clients,
      columns: [
        { label: texts.client, cell: ({ name }) => clientLink(name) },
        { label: texts.succeeded, isNumber: true, cell: ({ count }) => number(count, visit.texts) },
        {
          label: texts.failed,
          isNumber: true,
          cell: ({ name }) =>
            html`<a href="${logAddress({ clientId: name }, since)}">${number(failed.get(name) ?? 0, visit.texts)}</a>`,
        },
      ],
      rows: [...rows, ...onlyFailing],
      empty: texts.noClients,
    }),
  );
}
