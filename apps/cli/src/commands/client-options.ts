import type { Client } from '@gatehouse/identity';
import { type CommandInput, flag, type Option, text, texts } from '../command-line/command.ts';
import { changedList } from './changed-list.ts';

const list = (description: string): Option => ({ type: 'string', multiple: true, description });
const one = (description: string): Option => ({ type: 'string', description });
const yes = (description: string): Option => ({ type: 'boolean', description });

export const clientOptions: Readonly<Record<string, Option>> = {
  name: one('Name on the consent page.'),
  org: one('Organization that owns the client.'),
  'grant-type': list('Grant type: authorization_code, client_credentials, refresh_token, …'),
  'redirect-uri': list('Redirect URI: https, or http on loopback.'),
  'post-logout-redirect-uri': list('URI that a sign-out can redirect to.'),
  scope: list('Scope that the client can request.'),
  'signature-algorithm': one(
    'Signature algorithm: SHA-256, MD5, or HMAC-SHA-256 (version 2 only).',
  ),
  'application-type': one('Application type: web or native.'),
  'cors-origin': list('Web origin whose scripts can send requests.'),
  'ip-allow': list('Address or range that the client can use. Default: all addresses.'),
  public: yes('Public client, which cannot keep a secret. --no-public makes it confidential.'),
  'first-party': yes('Skip the consent page.'),
  'resource-server': yes('Allow the client to introspect every token.'),
  'own-organization-only': yes('Allow only users of the organization of the client to sign in.'),
};

/** The list options, and the member of a client that each one sets. */
const listMembers = {
  'grant-type': 'grantTypes',
  'redirect-uri': 'redirectUris',
  'post-logout-redirect-uri': 'postLogoutRedirectUris',
  scope: 'scopes',
  'cors-origin': 'corsOrigins',
  'ip-allow': 'ipAllowList',
} as const;

/** `--add-scope` and `--remove-scope`, for every list option. */
export const listChangeOptions: Readonly<Record<string, Option>> = Object.fromEntries(
  Object.keys(listMembers).flatMap((name) => [
    [`add-${name}`, list(`Entry to add to --${name}.`)],
    [`remove-${name}`, list(`Entry to remove from --${name}.`)],
  ]),
);

/** Whether an option changes the client. */
export function namesSettings(input: CommandInput): boolean {
  const isListChange = (name: string) => input.options[name] !== undefined;
  return (
    Object.keys(membersFromOptions(input)).length > 0 ||
    Object.keys(listChangeOptions).some(isListChange)
  );
}

/** The lists after the additions and removals. Empty if the command names none. */
export function changedLists(
  definition: Readonly<Record<string, unknown>>,
  { options }: CommandInput,
): Readonly<Record<string, readonly string[]>> {
  const changes = Object.entries(listMembers).flatMap(([name, member]) => {
    const [added, removed] = [texts(options[`add-${name}`]), texts(options[`remove-${name}`])];
    const existing = definition[member] as readonly string[];
    const isChanged = added !== undefined || removed !== undefined;
    return isChanged ? [[member, changedList(existing, added, removed)] as const] : [];
  });
  return Object.fromEntries(changes);
}

/** The options as members of a client in a bootstrap file. */
export function membersFromOptions({ options }: CommandInput): Readonly<Record<string, unknown>> {
  const members = {
    name: text(options.name),
    orgId: text(options.org),
    grantTypes: texts(options['grant-type']),
    redirectUris: texts(options['redirect-uri']),
    postLogoutRedirectUris: texts(options['post-logout-redirect-uri']),
    scopes: texts(options.scope),
    signatureAlgorithm: text(options['signature-algorithm']),
    applicationType: text(options['application-type']),
    corsOrigins: texts(options['cors-origin']),
    ipAllowList: texts(options['ip-allow']),
    public: flag(options.public),
    firstParty: flag(options['first-party']),
    resourceServer: flag(options['resource-server']),
    ownOrganizationOnly: flag(options['own-organization-only']),
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** A client as a bootstrap file defines it. */
export function toDefinition(client: Client): Readonly<Record<string, unknown>> {
  const {
    notBefore: _notBefore,
    sealedSecureKeys: _sealed,
    secureKeyCreatedAt: _createdAt,
    removedKeyIds: _removed,
    keptKeyIds: _kept,
    ...definition
  } = client;
  return definition;
}
