/** All screens, and those in the navigation, in its order. */
import { html } from '@gatehouse/server';
import type { Screen } from '../frame/screen.ts';
import type { NavigationEntry } from '../view/layout.ts';
import { organization, organizations } from './organizations.ts';

export const screens: readonly Screen[] = [organizations, organization];

/** The first one is the start. Icons are drawn with lines on 24 × 24. */
export const navigation: readonly NavigationEntry[] = [
  {
    path: '/organizations',
    label: (texts) => texts.organizations.title,
    icon: html`<path d="M4 20V6l8-3 8 3v14M4 20h16M9 20v-4h6v4M8 9h.01M12 9h.01M16 9h.01M8 12.5h.01M12 12.5h.01M16 12.5h.01"/>`,
  },
];
