import { expect, test } from '@jest/globals';
import { describeUserAgent } from './user-agent.ts';

const mac = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)';
const windows = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64)';
const webkit = 'AppleWebKit/537.36';

test.each([
  [`${windows.replace(')', '; rv:140.0)')} Gecko/20100101 Firefox/140.0`, 'Firefox', 'Windows'],
  [`${mac} ${webkit} Chrome/142.0.0.0 Safari/537.36`, 'Chrome', 'macOS'],
  [`${windows} ${webkit} Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0`, 'Edge', 'Windows'],
  [`${mac} AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15`, 'Safari', 'macOS'],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148 Safari/604.1',
    'Safari',
    'iOS',
  ],
  [
    `Mozilla/5.0 (Linux; Android 10; K) ${webkit} Chrome/142.0.0.0 Mobile Safari/537.36`,
    'Chrome',
    'Android',
  ],
  ['curl/8.5.0', undefined, undefined],
  [`${'x'.repeat(100_000)} Firefox/140.0`, undefined, undefined],
  [undefined, undefined, undefined],
])('names the browser and the system of %.60s', (header, browser, system) => {
  expect(describeUserAgent(header)).toEqual({ browser, system });
});
