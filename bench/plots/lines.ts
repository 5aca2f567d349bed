import { COLORS, document, text } from './svg.ts';

export interface LineChart {
  readonly title: string;
  readonly series: readonly string[];
  /** A value for each series, by the number on the logarithmic horizontal axis. */
  readonly points: Readonly<Record<string, readonly number[]>>;
  /** A horizontal line. */
  readonly limit?: number;
}

const WIDTH = 720;
const HEIGHT = 300;
const LEFT = 60;
const RIGHT = 40;
const TOP = 60;
const BOTTOM = 36;

/** Lines over a logarithmic axis. The vertical axis begins at zero. */
export function drawLines({ title, series, points, limit }: LineChart): string {
  const xs = Object.keys(points).map(Number);
  const largest = Math.max(limit ?? 0, ...Object.values(points).flat()) * 1.15;
  const [first = 1, last = 10] = [Math.min(...xs), Math.max(...xs)].map(Math.log10);
  const xOf = (x: number) =>
    LEFT + ((Math.log10(x) - first) / (last - first)) * (WIDTH - LEFT - RIGHT);
  const yOf = (y: number) => HEIGHT - BOTTOM - (y / largest) * (HEIGHT - TOP - BOTTOM);
  const parts = [
    `<path d="M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - RIGHT}" fill="none" stroke="#888"/>`,
    ...xs.map((x) => text(xOf(x), HEIGHT - BOTTOM + 18, x.toLocaleString('en-US'), 'middle')),
  ];
  if (limit !== undefined) {
    const y = yOf(limit).toFixed(1);
    parts.push(
      `<path d="M${LEFT} ${y}H${WIDTH - RIGHT}" stroke="#888" stroke-dasharray="4 4"/>`,
      text(LEFT - 8, yOf(limit) + 4, String(limit), 'end'),
    );
  }
  for (const index of series.keys()) {
    const line = xs.map((x) => [xOf(x), yOf(points[x]?.[index] ?? 0), points[x]?.[index]] as const);
    const path = line.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ');
    parts.push(
      `<polyline points="${path}" fill="none" stroke="${COLORS[index]}" stroke-width="2"/>`,
      ...line.map(([x, y, value]) => text(x, y - 8, String(value), 'middle')),
    );
  }
  return document({ title, series, width: WIDTH, height: HEIGHT, parts });
}
