import type { Client } from '@gatehouse/identity';
import { type CommandInput, flag, type Option, text, texts } from '../command.ts';

const list = (description: string): Option => ({ type: 'string', multiple: true, description });
const one = (description: string): Option => ({ type: 'string', description });
const yes = (description: string): Option => ({ type: 'boolean', description });

/** What a client is registered with, as options. */
export const clientOptions: Readonly<Record<string, Option>> = {
  name: one('What people see on the consent page.'),
  org: one('The organisation that owns it.'),
  'grant-type': list('authorization_code, client_credentials, refresh_token, …'),
  'redirect-uri': list('Where answers go: https, or http on loopback.'),
  'post-logout-redirect-uri': list('Where a sign-out may lead.'),
  scope: list('What it may ask for.'),
  'signature-algorithm': one('SHA-256, MD5, or HMAC-SHA-256: version 2 only.'),
  'application-type': one('web or native.'),
  'cors-origin': list('Origins whose scripts may call.'),
  'ip-allow': list('Addresses or ranges it may call from; none: from anywhere.'),
  public: yes('It can keep no secret; --no-public takes that back.'),
  'first-party': yes('Its users are not asked for consent.'),
  'resource-server': yes('It may introspect every token.'),
  'own-organization-only': yes('It signs in users of its own organisation only.'),
};

/** The members that were given, named as in a bootstrap file. */
export function givenMembers({ options }: CommandInput): Readonly<Record<string, unknown>> {
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

/** A client as a bootstrap file has it, without what the registry keeps for itself. */
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
