import { type Html, html } from './html.ts';

/**
 * Characters that change the direction of text or are invisible: a name with them can imitate
 * another name.
 */
const DECEIVING = /[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

/** A name that a client or user chose, for a title or an attribute. */
export function plainName(name: string): string {
  return name.replace(DECEIVING, '');
}

/**
 * A name that a client or user chose, within a sentence. Its text direction cannot change the
 * sentence (ASVS 10.7.2).
 */
export function foreignName(name: string): Html {
  return html`<bdi>${plainName(name)}</bdi>`;
}
