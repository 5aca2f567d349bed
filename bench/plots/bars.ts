import { COLORS, document, text } from './svg.ts';

export interface BarChart {
  readonly title: string;
  readonly series: readonly string[];
  /** One group of bars for each name, with a value for each series. */
  readonly bars: Readonly<Record<string, readonly number[]>>;
}

const WIDTH = 720;
const LABELS = 230;
const VALUES = 70;
const BAR = 14;
const GAP = 10;
const TOP = 56;

/** Horizontal bars from zero. */
export function drawBars({ title, series, bars }: BarChart): string {
  const largest = Math.max(...Object.values(bars).flat());
  const scale = (WIDTH - LABELS - VALUES) / largest;
  const parts: string[] = [];
  let y = TOP;
  for (const [name, values] of Object.entries(bars)) {
    parts.push(text(LABELS - 8, y + (values.length * BAR) / 2 + 4, name, 'end'));
    for (const [index, value] of values.entries()) {
      const width = (value * scale).toFixed(1);
      parts.push(
        `<rect x="${LABELS}" y="${y}" width="${width}" height="${BAR - 2}" fill="${COLORS[index]}"/>`,
        text(LABELS + value * scale + 6, y + BAR - 4, value.toLocaleString('en-US')),
      );
      y += BAR;
    }
    y += GAP;
  }
  return document({ title, series, width: WIDTH, height: y, parts });
}
