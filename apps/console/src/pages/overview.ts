/** Whether the platform is healthy, who uses it, and why requests fail. */
import { type Figures, figurePeriod, type RecordFinding } from '@gatehouse/operators';
import { fill, type Html, html } from '@gatehouse/server';
import { z } from 'zod';
import { type Screen, screen, type Visit } from '../frame/screen.ts';
import { addressWith, logAddress } from '../view/addresses.ts';
import {
  card,
  clientLink,
  duration,
  figures as figureList,
  live,
  number,
  percent,
  tableCard,
} from '../view/parts.ts';
import { type Plot, plot, type Series } from '../view/plots.ts';
import { FINDINGS_PATH, findingList } from './findings.ts';
import { processCard, REFRESH_SECONDS } from './processes.ts';
import { reasonCell } from './requests.ts';

const query = z.object({ period: figurePeriod.default('24h') });
type Place = Visit<z.output<typeof query>>;
type Point = Figures['points'][number];

/** All refusals of one kind fit, and the rest has a screen of its own. */
const REFUSALS = 16;
const CLIENTS = 8;
const FINDINGS = 4;
const OBJECTS = 3;

export const overview: Screen = screen({
  path: '/overview',
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
      html`${summary(figures, visit)}
<div class="columns">${outcomes(figures, visit)}${latency(figures, visit)}</div>
<div class="columns">${attention(found, visit)}${refusals(figures, visit)}${topClients(figures, visit)}${ranking('verifications', figures, visit)}${ranking('tokens', figures, visit)}</div>
${processCard(processes, visit)}`,
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

function summary({ outcomes: counted, p50, p99, tokens }: Figures, { texts }: Place): Html {
  const { overview: words, common, requests } = texts;
  const total = sum(counted);
  const failures = sum(counted.filter(({ name }) => name === 'refused' || name === 'failed'));
  const share = percent(failures / Math.max(1, total), texts);
  const latencyOf = (milliseconds: number | undefined) =>
    milliseconds === undefined ? '–' : duration(milliseconds, texts);
  return figureList([
    [requests.title, number(total, texts)],
    [common.failed, number(failures, texts), fill(common.share, { share })],
    [words.p50, latencyOf(p50)],
    [words.p99, latencyOf(p99)],
    [words.issued, number(sum(tokens), texts)],
  ]);
}

const plotCard = (visit: Place, drawn: Plot<Point>): Html =>
  card(
    drawn.title,
    drawn.series.length === 0
      ? html`<p class="empty">${visit.texts.overview.none}</p>`
      : plot(visit, drawn),
  );

function outcomes({ points }: Figures, visit: Place): Html {
  const { outcomes: title, outcome } = visit.texts.overview;
  const colors = { success: 'good', refused: 'warning', failed: 'bad', aborted: 'second' } as const;
  const series = (['success', 'refused', 'failed', 'aborted'] as const).map(
    (name): Series<Point> => ({
      ...{ label: outcome[name], color: colors[name] },
      value: ({ outcomes: counts }) => counts[name],
    }),
  );
  return plotCard(visit, { title, series, points, kind: 'areas' });
}

function latency({ points }: Figures, visit: Place): Html {
  const { latency: title, p50: median, p99: slow } = visit.texts.overview;
  const series: readonly Series<Point>[] = [
    { label: median, color: 'first', value: ({ p50 }) => p50 },
    { label: slow, color: 'second', value: ({ p99 }) => p99 },
  ];
  return plotCard(visit, { title, series, points, kind: 'lines', unit: 'ms' });
}

/** A name can be a kind with a result, such as `bearer accepted`. */
const kindOf = (name: string) => name.split(' ', 1)[0] ?? name;
const palette = ['first', 'second', 'third', 'fourth'] as const;

/** The most frequent kinds have a color, and the others share one. */
function ranking(group: 'tokens' | 'verifications', counted: Figures, visit: Place): Html {
  const { [group]: title, others } = visit.texts.overview;
  const kinds = [...new Set(counted[group].map(({ name }) => kindOf(name)))];
  const rest = kinds.slice(palette.length);
  const countOf = (members: readonly string[]) => (point: Point) =>
    Object.entries(point[group])
      .filter(([name]) => members.includes(kindOf(name)))
      .reduce((total, [, count]) => total + count, 0);
  const series: Series<Point>[] = kinds.slice(0, palette.length).map((kind, index) => ({
    label: kind,
    color: palette[index] ?? 'first',
    value: countOf([kind]),
  }));
  if (rest.length > 0) {
    series.push({ label: others, color: 'quiet', value: countOf(rest) });
  }
  return plotCard(visit, { title, series, points: counted.points, kind: 'areas' });
}

function refusals({ reasons, since }: Figures, visit: Place): Html {
  const { overview: texts, common, requests } = visit.texts;
  return tableCard(visit, {
    caption: texts.refusals,
    columns: [
      {
        label: common.reason,
        cell: ({ name }) => reasonCell(name, logAddress({ reason: name }, since)),
      },
      { label: requests.title, isNumber: true, cell: ({ count }) => number(count, visit.texts) },
    ],
    rows: reasons.slice(0, REFUSALS),
    empty: texts.none,
  });
}

function attention(found: readonly RecordFinding[], visit: Place): Html {
  const { overview: texts } = visit.texts;
  const all = html`<a class="button" href="${FINDINGS_PATH}">${texts.allFindings}</a>`;
  return found.length === 0
    ? card(texts.findings, html`<p class="empty">${texts.noFindings}</p>`)
    : card(texts.findings, findingList(found.slice(0, FINDINGS), visit, OBJECTS), all);
}

function topClients({ clients, failingClients, since }: Figures, visit: Place): Html {
  const { overview: texts, common } = visit.texts;
  const countIn = (counts: typeof clients, client: string) =>
    number(counts.find(({ name }) => name === client)?.count ?? 0, visit.texts);
  const names = new Set([...clients, ...failingClients].map(({ name }) => name));
  return tableCard(visit, {
    caption: texts.clients,
    columns: [
      { label: common.client, cell: (name) => clientLink(name) },
      { label: common.succeeded, isNumber: true, cell: (name) => countIn(clients, name) },
      {
        label: common.failed,
        isNumber: true,
        cell: (name) =>
          html`<a href="${logAddress({ clientId: name }, since)}">${countIn(failingClients, name)}</a>`,
      },
    ],
    rows: [...names].slice(0, CLIENTS),
    empty: texts.none,
  });
}
