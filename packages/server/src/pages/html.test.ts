import { expect, test } from '@jest/globals';
import { foreignName, html, plainName, sentence } from './html.ts';

test('markup escapes every value that is not markup', () => {
  const value = `<b>"a" & 'b'</b>`;
  const escaped = '&lt;b&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/b&gt;';
  expect(html`<p title="${value}">${value}</p>`.markup).toBe(
    `<p title="${escaped}">${escaped}</p>`,
  );
});

test('a sentence replaces each placeholder once, also if a value contains a placeholder', () => {
  const made = sentence('{a} & {b}', { a: '{b}<i>', b: html`<b>x</b>` });
  expect(made.markup).toBe('{b}&lt;i&gt; &amp; <b>x</b>');
});

test('a foreign name loses invisible characters and changes of direction, and is isolated', () => {
  expect(foreignName('Bank\u202Egnp.\u2066e\u200bxe <i>').markup).toBe(
    '<bdi>Bankgnp.exe &lt;i&gt;</bdi>',
  );
  expect(plainName('\u200f\ufeff日本 שלום')).toBe('日本 שלום');
});
