/** All screens. */
import type { Screen } from '../frame/screen.ts';
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
