import { type Html, html } from './html.ts';

/** Characters that turn the direction of text around or take no room: a name made of them reads as another. */
const DECEIVING = /[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

/** A name somebody else chose, for a title or an attribute. */
export function plainName(name: string): string {
  return name.replace(DECEIVING, '');
}

/** A name somebody else chose, in a sentence of ours: its direction stays its own (ASVS 10.7.2). */
export function foreignName(name: string): Html {
  return html`<bdi>${plainName(name)}</bdi>`;
}
