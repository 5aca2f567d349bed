/** All screens, and those in the navigation, in its order. */
import { html } from '@gatehouse/server';
import type { Screen } from '../frame/screen.ts';
import type { NavigationEntry } from '../view/layout.ts';
import { audit } from './audit.ts';
import { client } from './client.ts';
import { newClientScreen } from './client-wizard.ts';
import { clients } from './clients.ts';
import { device, devices } from './devices.ts';
import { findings } from './findings.ts';
import { keys } from './keys.ts';
import { organization, organizations } from './organizations.ts';
import { overview } from './overview.ts';
import { request } from './request.ts';
import { requests } from './requests.ts';
import { settings } from './settings.ts';
import { settingsMemberScreen } from './settings-member.ts';
import { tokens } from './tokens.ts';
import { user } from './user.ts';
import { users } from './users.ts';

export const screens: readonly Screen[] = [
  overview,
  findings,
  requests,
  request,
  clients,
  client,
  newClientScreen,
  organizations,
  organization,
  devices,
  device,
  users,
  user,
  tokens,
  audit,
  keys,
  settings,
  settingsMemberScreen,
];

/** In the order of the navigation, drawn with lines on 24 × 24. */
const icons = {
  overview: html`<path d="M3 20h18M6 16v-4M11 16V6M16 16v-7M21 16v-2"/>`,
  requests: html`<path d="M4 8h14m-4-4 4 4-4 4M20 16H6m4-4-4 4 4 4"/>`,
  clients: html`<rect x="3.5" y="4" width="17" height="6.5" rx="1.5"/><rect x="3.5" y="13.5" width="17" height="6.5" rx="1.5"/><path d="M7 7.25h.01M7 16.75h.01M11 7.25h6M11 16.75h6"/>`,
  organizations: html`<path d="M4 20V6l8-3 8 3v14M4 20h16M9 20v-4h6v4M8 9h.01M12 9h.01M16 9h.01M8 12.5h.01M12 12.5h.01M16 12.5h.01"/>`,
  users: html`<circle cx="12" cy="8" r="4"/><path d="M4 20.5c1-4 4-6 8-6s7 2 8 6"/>`,
  devices: html`<rect x="6" y="6" width="12" height="12" rx="2"/><path d="M9.5 6V3M14.5 6V3M9.5 21v-3M14.5 21v-3M6 9.5H3M6 14.5H3M21 9.5h-3M21 14.5h-3"/>`,
  tokens: html`<circle cx="8" cy="15" r="4.5"/><path d="M11.2 11.8 20 3M16 7l3 3M13.5 9.5l2 2"/>`,
  audit: html`<path d="M6 3.5h9l3.5 3.5v13.5H6zM9 10h6.5M9 13.5h6.5M9 17h4"/>`,
  keys: html`<path d="M12 3.5 19.5 6v5.5c0 4.5-3 7.5-7.5 9-4.5-1.5-7.5-4.5-7.5-9V6zM12 10.5V15"/><circle cx="12" cy="9.5" r="1.25"/>`,
  settings: html`<path d="M4 7h9M17 7h3M4 17h3M11 17h9"/><circle cx="15" cy="7" r="2"/><circle cx="9" cy="17" r="2"/>`,
} as const;

/** The first one is the start. */
export const navigation: readonly NavigationEntry[] = Object.entries(icons).map(([name, icon]) => ({
  path: `/${name}`,
  label: (texts) => texts[name as keyof typeof icons].title,
  icon,
}));
