/**
 * Draws the figures of figures.json as SVG files next to it.
 *
 *   node bench/plots/draw.ts
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BarChart, drawBars } from './bars.ts';
import { drawLines, type LineChart } from './lines.ts';

type Figure = { readonly file: string } & (BarChart | LineChart);

const directory = import.meta.dirname;
const figures: readonly Figure[] = JSON.parse(
  readFileSync(join(directory, 'figures.json'), 'utf8'),
);
for (const figure of figures) {
  const svg = 'bars' in figure ? drawBars(figure) : drawLines(figure);
  writeFileSync(join(directory, figure.file), `${svg}\n`);
}
