/**
 * Plots as SVG, drawn by the server: counts as stacked areas, latencies as lines. The numbers are in
 * a table below, and the values of a point in its title.
 */
import { type Html, html } from '@gatehouse/server';
import { number, type Place } from './parts.ts';

export interface Series {
  /** Of the values of a point. */
  readonly name: string;
  readonly label: string;
  readonly color: 'good' | 'warning' | 'bad' | 'first' | 'second' | 'third' | 'fourth' | 'quiet';
}

export interface Point {
  /** The start of the cell, in epoch milliseconds. */
  readonly at: number;
  /** By the names of the series. Undefined: nothing was measured. */
  readonly values: Readonly<Record<string, number | undefined>>;
}

export interface Plot {
  readonly title: string;
  readonly series: readonly Series[];
  /** In the order of time, at equal distances. */
  readonly points: readonly Point[];
  /** Counts are stacked. Latencies are lines. */
  readonly kind: 'areas' | 'lines';
  /** After each number, such as `ms`. */
  readonly unit?: string;
}

const WIDTH = 560;
const HEIGHT = 180;
const LEFT = 48;
const BOTTOM = 28;
const TOP = 14;
const LINES = 4;

export function plot({ texts, now }: Pick<Place, 'texts' | 'now'>, given: Plot): Html {
  const { title, series, points, kind, unit = '' } = given;
  const step = (WIDTH - LEFT) / Math.max(1, points.length);
  const highest = niceMaximum(
    Math.max(1, ...points.flatMap((point) => topsOf(point, series, kind))),
  );
  const x = (index: number) => LEFT + step * (index + 0.5);
  const y = (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / highest);
  const isLong = points.length > 1 && now - (points[0]?.at ?? now) > 36 * 3_600_000;
  const timeOf = timeFormat(texts.language, isLong);
  const shown = (value: number) =>
    `${number(value, texts, value < 10 ? 1 : 0)}${unit && ` ${unit}`}`;
  const label = (point: Point) =>
    [
      timeOf(point.at),
      ...series.map((each) => {
        const value = point.values[each.name];
        return `${each.label}: ${value === undefined ? '–' : shown(value)}`;
      }),
    ].join('\n');
  const tickLabel = new Intl.NumberFormat(texts.language, {
    notation: 'compact',
    maximumFractionDigits: 1,
  });
  const ticks = Array.from({ length: LINES + 1 }, (_value, index) => (highest / LINES) * index);
  const every = Math.max(1, Math.ceil(points.length / 6));
  const scale = { x, y, kind, series };
  return html`<figure class="plot">
<figcaption class="unseen">${title}</figcaption>
<ul class="legend">${series.map((each) => html`<li class="${each.color}-series"><span>${each.label}</span></li>`)}</ul>
<svg viewBox="0 0 ${String(WIDTH)} ${String(HEIGHT)}" role="img" aria-label="${title}">
${ticks.map(
  (tick) =>
    html`<path class="grid" d="M${String(LEFT)} ${coordinate(y(tick))}H${String(WIDTH)}"/><text x="${String(LEFT - 6)}" y="${coordinate(y(tick) + 4)}" text-anchor="end">${tickLabel.format(tick)}</text>`,
)}
${[...series.keys()].reverse().map((index) => shapeOf(index, points, scale))}
${points.map((point, index) => {
  const tick =
    index % every === 0
      ? html`<text x="${coordinate(x(index))}" y="${String(HEIGHT - 4)}" text-anchor="middle">${timeOf(point.at)}</text>`
      : undefined;
  return html`${tick}<rect class="point" x="${coordinate(LEFT + step * index)}" y="${String(TOP)}" width="${coordinate(step)}" height="${String(HEIGHT - TOP - BOTTOM)}"><title>${label(point)}</title></rect>`;
})}
</svg>
${numbers(given, { timeOf, shown, texts })}
</figure>`;
}

/** A latency that was not measured interrupts its line. */
function shapeOf(
  index: number,
  points: readonly Point[],
  scale: Pick<Plot, 'kind' | 'series'> & Readonly<Record<'x' | 'y', (value: number) => number>>,
): Html {
  const { kind, series, x, y } = scale;
  const { name = '', color = 'first' } = series[index] ?? {};
  if (kind === 'lines') {
    let isDown = false;
    const path = points.map((point, at) => {
      const value = point.values[name];
      const command = isDown ? 'L' : 'M';
      isDown = value !== undefined;
      // A point of its own is a line without a length, which is drawn as a dot.
      return value === undefined ? '' : `${command}${coordinate(x(at))} ${coordinate(y(value))}h0`;
    });
    return html`<path class="line ${color}-series" d="${path.join('')}"/>`;
  }
  const tops = points.map((point) => topsOf(point, series.slice(0, index + 1), kind).at(-1) ?? 0);
  const floors = points.map((point) => topsOf(point, series.slice(0, index), kind).at(-1) ?? 0);
  const forth = tops.map((value, at) => `${coordinate(x(at))} ${coordinate(y(value))}`);
  const back = floors.map((value, at) => `${coordinate(x(at))} ${coordinate(y(value))}`).reverse();
  const d = points.length === 0 ? '' : `M${[...forth, ...back].join('L')}Z`;
  return html`<path class="area ${color}-series" d="${d}"/>`;
}

/** Stacked, or each by itself. */
function topsOf(
  { values }: Point,
  series: readonly Series[],
  kind: Plot['kind'],
): readonly number[] {
  let sum = 0;
  return series.map(({ name }) => {
    const value = values[name] ?? 0;
    sum += value;
    return kind === 'areas' ? sum : value;
  });
}

function numbers(
  { series, points }: Plot,
  {
    timeOf,
    shown,
    texts,
  }: {
    readonly timeOf: (at: number) => string;
    readonly shown: (value: number) => string;
    readonly texts: Place['texts'];
  },
): Html {
  return html`<details><summary>${texts.frame.numbers}</summary>
<table role="table"><thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">${texts.frame.time}</th>${series.map(
    (each) => html`<th role="columnheader" scope="col" class="number">${each.label}</th>`,
  )}</tr></thead>
<tbody role="rowgroup">${points.map(
    (point) =>
      html`<tr role="row"><td role="cell" data-label="${texts.frame.time}"><time datetime="${new Date(point.at).toISOString()}">${timeOf(point.at)}</time></td>${series.map(
        (each) => {
          const value = point.values[each.name];
          return html`<td role="cell" class="number" data-label="${each.label}">${value === undefined ? '–' : shown(value)}</td>`;
        },
      )}</tr>`,
  )}</tbody></table>
</details>`;
}

/** The time zone of the operator is unknown, so it is UTC. */
function timeFormat(language: string, isLong: boolean): (at: number) => string {
  const format = new Intl.DateTimeFormat(language, {
    ...(isLong ? { month: 'short', day: 'numeric' } : { hour: '2-digit', minute: '2-digit' }),
    hourCycle: 'h23',
    timeZone: 'UTC',
  });
  return (at) => format.format(at);
}

/** 1, 2, 4, 5 or 8 times a power of ten, so that a quarter of it is easy to read. */
function niceMaximum(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 8, 10].map((factor) => factor * power).find((each) => each >= value) ?? value;
}

const coordinate = (value: number) => String(Math.round(value * 10) / 10);
