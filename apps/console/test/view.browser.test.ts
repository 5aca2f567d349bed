// requires: chromium
/** The script of the pages in a real browser: live regions, copies and the values of plots. */
import { createServer } from 'node:http';
import { html } from '@gatehouse/server';
import { until } from '@gatehouse/testing';
import { accessibilityProblems, launchBrowser } from '@gatehouse/testing/browser';
import { listenForTests } from '@gatehouse/testing/suite';
import { afterAll, expect, test } from '@jest/globals';
import express from 'express';
import { createPageHeaders } from '../src/frame/send-page.ts';
import { addAssets } from '../src/view/assets.ts';
import { renderDocument } from '../src/view/layout.ts';
import { card, copyable, live, status, tabs } from '../src/view/parts.ts';
import { plot } from '../src/view/plots.ts';
import { english as texts } from '../src/view/texts-en.ts';

let reads = 0;
let isEnded = false;
const app = express();
app.use(createPageHeaders('http://localhost:9000'));
addAssets(app);
app.get('/', (_request, response) => {
  reads += 1;
  response
    .status(isEnded ? 401 : 200)
    .type('html')
    .end(page(reads).markup);
});
const port = await listenForTests(createServer(app));
const browser = await launchBrowser();
afterAll(() => browser.close());

function page(read: number) {
  const now = Date.now();
  const place = { texts, now, path: '/', search: new URLSearchParams() };
  const points = Array.from({ length: 60 }, (_value, index) => ({
    at: now - (60 - index) * 60_000,
    ok: 40 + Math.round(25 * Math.sin(index / 9)),
    refused: 8 + (index % 5),
    failed: index % 17 === 0 ? 6 : 0,
    fast: 3 + (index % 4),
    slow: 18 + 9 * Math.cos(index / 6),
  }));
  const requests = plot(place, {
    title: 'Requests by outcome',
    kind: 'areas',
    points,
    series: [
      { label: 'Succeeded', color: 'good', value: ({ ok }) => ok },
      { label: 'Rejected', color: 'warning', value: ({ refused }) => refused },
      { label: 'Failed', color: 'bad', value: ({ failed }) => failed },
    ],
  });
  const latency = plot(place, {
    title: 'Duration',
    kind: 'lines',
    unit: 'ms',
    points,
    series: [
      { label: 'p50', color: 'first', value: ({ fast }) => fast },
      { label: 'p99', color: 'second', value: ({ slow }) => slow },
    ],
  });
  return renderDocument({
    texts,
    title: 'Overview',
    address: '/',
    frame: { formToken: 'x', userName: 'olga', mayWrite: true },
    content: html`${tabs(place, 'Span', [
      { name: 'hour', label: '1 hour' },
      { name: 'day', label: '24 hours' },
    ])}
${live('state', 0.05, html`<p>Read <b>${String(read)}</b> ${status('good', 'Ready')} ${status('bad', 'Down')} ${status('warning', 'Late')}</p>`)}
<p>${copyable('curl -v', texts.frame)}</p>
<div class="columns">${card('Requests', requests)}${card('Duration', latency)}</div>`,
  });
}

test('without script, everything is there and accessible at both sizes', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const plain = await context.newPage();
  for (const width of [1280, 390]) {
    await plain.setViewportSize({ width, height: 900 });
    await plain.goto(`http://localhost:${port}/`);
    expect(await plain.locator('button[data-copied]').isHidden()).toBe(true);
    expect(await plain.locator('svg .point title').first().textContent()).toContain('Succeeded: ');
    await plain.locator('summary').first().click();
    expect(await plain.locator('details[open] tbody tr').count()).toBe(60);
  }
  await context.close();
});

test('the script refreshes regions, copies texts, shows values, and reports when it stops', async () => {
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
  const tab = await context.newPage();
  const errors: string[] = [];
  tab.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('401')) {
      errors.push(message.text());
    }
  });
  for (const width of [1280, 390]) {
    await tab.setViewportSize({ width, height: 900 });
    await tab.goto(`http://localhost:${port}/`);
    expect(await accessibilityProblems(tab)).toEqual([]);
    const overflow = tab.locator('html').evaluate((each) => each.scrollWidth - each.clientWidth);
    expect(await overflow).toBe(0);
    if (process.env.SCREENSHOTS) {
      await tab.emulateMedia({ colorScheme: width === 390 ? 'dark' : 'light' });
      await tab.screenshot({ path: `coverage/console/view-${width}.png`, fullPage: true });
    }
  }
  const shown = Number(await tab.locator('#live-state b').textContent());
  await until(async () => Number(await tab.locator('#live-state b').textContent()) > shown);
  await tab.locator('[data-copied]').click();
  await tab.locator('[data-copied]', { hasText: 'Copied' }).waitFor();
  expect(await tab.evaluate('navigator.clipboard.readText()')).toBe('curl -v');
  await tab.locator('.plot .point').nth(30).hover();
  await tab.locator('.values', { hasText: 'Succeeded: ' }).first().waitFor();
  isEnded = true;
  await tab.locator('#live-stopped').waitFor();
  expect(errors).toEqual([]);
  await context.close();
});
