import { expect, test } from '@jest/globals';
import { addressWith, localAddress, pathTo } from './addresses.ts';
import { actForm, destroyLink, filterForm } from './forms.ts';
import { counted, table, tabs, time } from './parts.ts';
import { plot } from './plots.ts';
import { english } from './texts-en.ts';
import { chinese } from './texts-zh.ts';

const now = Date.parse('2026-03-01T12:00:00Z');
const hostile = `"><script>alert('&')</script>`;
const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;';

const place = (search = '', texts = english) => ({
  ...{ texts, now, path: '/things', search: new URLSearchParams(search) },
  ...{ formToken: 'token', mayWrite: true },
});

test('every text of the console has a translation, with the same placeholders', () => {
  const leaves = (texts: object, path = ''): [string, string][] =>
    Object.entries(texts).flatMap(([name, value]) =>
      typeof value === 'string' ? [[`${path}${name}`, value]] : leaves(value, `${path}${name}.`),
    );
  const placeholders = (texts: object) =>
    leaves(texts).map(([name, text]) => [
      name,
      [...text.matchAll(/\{\w+\}/g)].join().split(',').sort(),
    ]);
  expect(placeholders(chinese)).toEqual(placeholders(english));
  expect(leaves(chinese).filter(([, text]) => text.trim() === '')).toEqual([]);
});

test('a time is in words of the language, with the exact time in its title', () => {
  const words = (at: number | string, texts = english) => time(at, place('', texts)).markup;
  expect(words(now - 3 * 60_000)).toBe(
    '<time datetime="2026-03-01T11:57:00.000Z" title="2026-03-01T11:57:00.000Z">3 minutes ago</time>',
  );
  expect(words(now - 3 * 60_000, chinese)).toContain('>3分钟前<');
  expect(words('2026-03-02T13:00:00Z')).toContain('>tomorrow<');
  expect(words('2025-12-24T00:00:00Z')).toContain('>Dec 24, 2025<');
  expect(words(hostile)).toBe(escaped);
});

test('a list escapes its cells, names them for phones, and keeps the filters in its pages', () => {
  const list = {
    caption: 'Things',
    empty: 'None.',
    columns: [{ label: 'Name', cell: (row: string) => row }],
  };
  const { markup } = table(place('q=a%26b&cursor=old'), { ...list, rows: [hostile], next: 'n&w' });
  expect(markup).toContain(`<td role="cell" data-label="Name">${escaped}</td>`);
  expect(markup).toContain('<a class="button" href="/things?q=a%26b">First page</a>');
  expect(markup).toContain('href="/things?q=a%26b&amp;cursor=n%26w">Next page</a>');
  expect(table(place(), { ...list, rows: [] }).markup).toBe('<p class="empty">None.</p>');
  // A page can be empty although more follow.
  expect(table(place(), { ...list, rows: [], next: 'more' }).markup).toContain('cursor=more');
});

test('a filter keeps the tab and shows what the URL has', () => {
  const fields = [{ name: 'q', label: 'Query' }];
  const { markup } = filterForm(place(`tab=log&cursor=c&q=${encodeURIComponent(hostile)}`), fields);
  expect(markup).toContain(`value="${escaped}"`);
  expect(markup).toContain('<input type="hidden" name="tab" value="log">');
  expect(markup).not.toContain('cursor');
});

test('a form of an act has the token, and shows the problems of the last try at their fields', () => {
  const form = {
    act: 'save',
    button: 'Save',
    fields: [{ name: 'a', label: 'A', value: 'stored' }],
  };
  const attempt = {
    act: 'save',
    values: { a: hostile },
    message: 'No.',
    problems: [
      { property: 'a', message: 'is bad' },
      { property: 'b', message: 'is missing' },
    ],
  };
  const plain = actForm(place(), form)?.markup ?? '';
  expect(plain).toContain('action="/things/save"');
  expect(plain).toContain('<input type="hidden" name="form-token" value="token">');
  expect(plain).toContain('value="stored"');
  const tried = actForm({ ...place(), attempt }, form)?.markup ?? '';
  expect(tried).toContain(`value="${escaped}"`);
  expect(tried).toContain('<p class="field-problem" id="save-a-problem">is bad</p>');
  expect(tried).toContain('<li>b: is missing</li>');
  expect(actForm({ ...place(), mayWrite: false }, form)).toBeUndefined();
  expect(destroyLink({ ...place(), mayWrite: false }, { act: 'x', label: 'X' })).toBeUndefined();
  expect(
    destroyLink(place(), { act: 'end', label: 'End', fields: { id: 'a&b' } })?.markup,
  ).toContain('href="/things/end?id=a%26b"');
});

test('the current tab is the first one by default', () => {
  const entries = [
    { name: 'one', label: 'One' },
    { name: 'two', label: 'Two' },
  ];
  expect(tabs(place(), 'Views', entries).markup).toContain(
    'href="/things" aria-current="page">One',
  );
  expect(tabs(place('tab=two'), 'Views', entries).markup).toContain(
    'href="/things?tab=two" aria-current="page">Two',
  );
});

test('counts have the form of their number', () => {
  expect([1, 1234].map((count) => counted(count, english, english.counts.users))).toEqual([
    '1 user',
    '1,234 users',
  ]);
});

test('addresses stay within the console, and parameters of paths are encoded', () => {
  expect(pathTo('/a/:id/b', { id: '../x?#' })).toBe('/a/..%2Fx%3F%23/b');
  expect(addressWith(place('a=1&b=2'), { a: undefined, c: '3' })).toBe('/things?b=2&c=3');
  expect(
    ['/x?y=1', '//evil.example', 'https://evil.example', '/\\evil.example', 1].map(localAddress),
  ).toEqual(['/x?y=1', '/', '/', '/', '/']);
});

test('a plot stacks counts, interrupts a line without a value, and has its numbers in a table', () => {
  const points = [
    { at: now - 120_000, ok: 6, bad: 2 },
    { at: now - 60_000 },
    { at: now, ok: 3, bad: 1 },
  ];
  const drawn = {
    title: 'Requests',
    series: [
      { label: hostile, color: 'good', value: ({ ok }: (typeof points)[number]) => ok },
      { label: 'Rejected', color: 'bad', value: ({ bad }: (typeof points)[number]) => bad },
    ],
    points,
  } as const;
  const areas = plot(place(), { ...drawn, kind: 'areas' }).markup;
  expect(areas).toContain('role="img" aria-label="Requests"');
  expect(areas).toContain(`<title>11:58\n${escaped}: 6\nRejected: 2</title>`);
  // Eight requests reach the top.
  expect(areas).toMatch(/class="areas bad-series" d="M[\d.]+ 14L/);
  expect(areas).toContain('<td role="cell" data-label="Rejected" class="number">–</td>');
  const lines = plot(place(), { ...drawn, kind: 'lines', unit: 'ms' }).markup;
  expect(lines.match(/class="lines good-series" d="(M[^M"]+M[^M"]+)"/)).not.toBeNull();
  expect(lines).toContain('Rejected: 2 ms');
  expect(plot(place(), { ...drawn, points: [], kind: 'areas' }).markup).not.toContain('NaN');
});
