/**
 * Plots as SVG, drawn by the server: counts as stacked areas, latencies as lines. The numbers are in
 * a table below, and the values of a point in its title.
 */
import { type Html, html } from '@gatehouse/server';
import { number, type Place, table } from './parts.ts';

export interface Series<Point> {
  readonly label: string;
  readonly color: 'good' | 'warning' | 'bad' | 'first' | 'second' | 'third' | 'fourth' | 'quiet';
  /** Undefined: nothing was measured. */
  readonly value: (point: Point) => number | undefined;
}

export interface Plot<Point> {
  readonly title: string;
  readonly series: readonly Series<Point>[];
  /** In the order of time, at equal distances. */
  readonly points: readonly Point[];
  /** Counts are stacked. Latencies are lines. */
  readonly kind: 'areas' | 'lines';
  /** After each number, such as `ms`. */
  readonly unit?: string;
}

/** The start of a cell, in epoch milliseconds. */
interface Timed {
  readonly at: number;
}

const WIDTH = 560;
const HEIGHT = 180;
const LEFT = 48;
const BOTTOM = 28;
const TOP = 14;
const LINES = 4;
/** Longer plots show days. */
const DAYS_AFTER_MILLISECONDS = 36 * 3_600_000;

export function plot<Point extends Timed>(place: Place, given: Plot<Point>): Html {
  const { title, series, points, kind, unit = '' } = given;
  const { language } = place.texts;
  const step = (WIDTH - LEFT) / Math.max(1, points.length);
  const heights = heightsOf(given);
  const highest = niceMaximum(Math.max(1, ...heights.flat().map((value) => value ?? 0)));
  const x = (index: number) => coordinate(LEFT + step * (index + 0.5));
  const y = (value: number) => coordinate(TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / highest));
  const isLong = place.now - (points[0]?.at ?? place.now) > DAYS_AFTER_MILLISECONDS;
  const timeOf = timeFormat(language, isLong);
  const shown = (value: number | undefined) =>
    value === undefined
      ? '–'
      : `${number(value, place.texts, value < 10 ? 1 : 0)}${unit && ` ${unit}`}`;
  const label = (point: Point) =>
    [timeOf(point), ...series.map((each) => `${each.label}: ${shown(each.value(point))}`)].join(
      '\n',
    );
  const compact = new Intl.NumberFormat(language, {
    notation: 'compact',
    maximumFractionDigits: 1,
  });
  const ticks = Array.from({ length: LINES + 1 }, (_value, index) => (highest / LINES) * index);
  const every = Math.max(1, Math.ceil(points.length / 6));
  const shapes = series.map(({ color }, index) => {
    const [tops = [], floors = points.map(() => 0)] = [heights[index], heights[index - 1]];
    const path = kind === 'lines' ? linePath(tops, x, y) : areaPath(tops, floors, x, y);
    return html`<path class="${kind} ${color}-series" d="${path}"/>`;
  });
  return html`<figure class="plot">
<figcaption class="unseen">${title}</figcaption>
<ul class="legend">${series.map((each) => html`<li class="${each.color}-series"><span>${each.label}</span></li>`)}</ul>
<svg viewBox="0 0 ${String(WIDTH)} ${String(HEIGHT)}" role="img" aria-label="${title}">
${ticks.map(
  (tick) =>
    html`<path class="grid" d="M${String(LEFT)} ${y(tick)}H${String(WIDTH)}"/><text x="${String(LEFT - 6)}" y="${y(tick)}" dy="4" text-anchor="end">${compact.format(tick)}</text>`,
)}
${shapes.reverse()}
${points.map((point, index) => {
  const tick =
    index % every === 0
      ? html`<text x="${x(index)}" y="${String(HEIGHT - 4)}" text-anchor="middle">${timeOf(point)}</text>`
      : undefined;
  return html`${tick}<rect class="point" x="${coordinate(LEFT + step * index)}" y="${String(TOP)}" width="${coordinate(step)}" height="${String(HEIGHT - TOP - BOTTOM)}"><title>${label(point)}</title></rect>`;
})}
</svg>
<details><summary>${place.texts.frame.numbers}</summary>${table(place, {
    caption: title,
    columns: [
      {
        label: place.texts.common.time,
        cell: (point) =>
          html`<time datetime="${new Date(point.at).toISOString()}">${timeOf(point)}</time>`,
      },
      ...series.map(({ label: name, value }) => ({
        ...{ label: name, isNumber: true, cell: (point: Point) => shown(value(point)) },
      })),
    ],
    rows: points,
    empty: '',
  })}</details>
</figure>`;
}

type Heights = readonly (number | undefined)[];
type Scale = (value: number) => string;

/** Of each series, for each point. Counts are stacked on those of the series before. */
function heightsOf<Point>({ series, points, kind }: Plot<Point>): readonly Heights[] {
  let floors = points.map(() => 0);
  return series.map(({ value }) => {
    if (kind === 'lines') {
      return points.map(value);
    }
    floors = points.map((point, index) => (floors[index] ?? 0) + (value(point) ?? 0));
    return floors;
  });
}

/** A latency that was not measured interrupts its line. */
function linePath(heights: Heights, x: Scale, y: Scale): string {
  const steps = heights.map((value, index) => {
    const command = heights[index - 1] === undefined ? 'M' : 'L';
    // A point of its own is a line without a length, which is drawn as a dot.
    return value === undefined ? '' : `${command}${x(index)} ${y(value)}h0`;
  });
  return steps.join('');
}

function areaPath(tops: Heights, floors: Heights, x: Scale, y: Scale): string {
  const edge = (heights: Heights) => heights.map((value = 0, index) => `${x(index)} ${y(value)}`);
  const corners = [...edge(tops), ...edge(floors).reverse()];
  return corners.length === 0 ? '' : `M${corners.join('L')}Z`;
}

/** The time zone of the operator is unknown, so it is UTC. */
function timeFormat(language: string, isLong: boolean): (point: Timed) => string {
  const format = new Intl.DateTimeFormat(language, {
    ...(isLong ? { month: 'short', day: 'numeric' } : { hour: '2-digit', minute: '2-digit' }),
    hourCycle: 'h23',
    timeZone: 'UTC',
  });
  return ({ at }) => format.format(at);
}

/** 1, 2, 4, 5 or 8 times a power of ten, so that a quarter of it is easy to read. */
function niceMaximum(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 8, 10].map((factor) => factor * power).find((each) => each >= value) ?? value;
}

const coordinate = (value: number) => String(Math.round(value * 10) / 10);
