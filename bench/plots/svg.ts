export const COLORS = ['#9aa5b1', '#2563a8', '#c05a1c', '#3d8b4f'] as const;

interface Drawing {
  readonly title: string;
  readonly series: readonly string[];
  readonly width: number;
  readonly height: number;
  readonly parts: readonly string[];
}

/** A white background, because the page can be dark. */
export function document({ title, series, width, height, parts }: Drawing): string {
  const legend = series.flatMap((name, index) => {
    const x = 16 + index * 170;
    return [
      `<rect x="${x}" y="32" width="10" height="10" fill="${COLORS[index]}"/>`,
      text(x + 16, 41, name),
    ];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="${asXml(title)}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="16" y="20" font-size="14" font-weight="bold">${asXml(title)}</text>`,
    ...legend,
    ...parts,
    '</svg>',
  ].join('\n');
}

export function text(x: number, y: number, shown: string, anchor = 'start'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${asXml(shown)}</text>`;
}

function asXml(shown: string): string {
  return shown.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
