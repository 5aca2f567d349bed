import { clientSchema, registrationTokenSchema } from '@gatehouse/identity';
import type {
  ClientChange,
  ClientView,
  NewClient,
  RegistrationTokenInput,
} from '@gatehouse/operators';
import { type Command, type CommandInput, pairs, UsageError } from '../command-line/command.ts';
import { formatTable, formatTime, formatUse, lines, rowsOf } from '../command-line/format.ts';
import { filterOptions, readFilter, readPages } from '../command-line/lists.ts';
import { createMemberOptions, readEnabled, readKeys } from '../command-line/member-options.ts';
import { yesOption } from '../command-line/terminal.ts';

const members = createMemberOptions(clientSchema.shape, {
  'name <name>': 'Name on the consent page.',
  'org <id>': 'Organization that owns the client.',
  'grant-type <type...>': 'Grant type: authorization_code, client_credentials, refresh_token, …',
  'redirect-uri <uri...>': 'Redirect URI: https, or http on loopback.',
  'post-logout-redirect-uri <uri...>': 'URI that a sign-out can redirect to.',
  'scope <scope...>': 'Scope that the client can request.',
  'default-resource <url>': 'The API of tokens whose request names none.',
  'signature-algorithm <name>':
    'Signature algorithm: SHA-256, MD5, or HMAC-SHA-256 (version 2 only).',
  'application-type <type>': 'Application type: web or native.',
  'cors-origin <origin...>': 'Web origin whose scripts can send requests.',
  'ip-allow <range...>': 'Address or range that the client can use. Default: all addresses.',
  '[no-]public': 'Public client, which cannot keep a secret.',
  '[no-]first-party': 'Skip the consent page.',
  '[no-]resource-server': 'Allow the client to introspect every token.',
  '[no-]own-organization-only': 'Allow only users of the organization of the client to sign in.',
  'jwks <file>': 'File of its public keys (a JWK Set), which replace secure key and --jwks-uri.',
  'jwks-uri <url>': 'Address of its public keys, which replaces secure key and --jwks.',
  'backchannel-logout-uri <url>': 'Address that receives a logout token when a user signs out.',
  '[no-]backchannel-logout-session-required':
    'Name the session of the browser in logout and ID tokens.',
});

const lifetimeOption = {
  'lifetime <name=seconds...>':
    'Lifetime of its credentials: accessToken, refreshToken, refreshTokenIdle, idToken, code or deviceCode. An empty value removes it.',
};

/** The lifetimes that the command names. */
function readLifetimes(input: CommandInput, removed: null | undefined) {
  const given = pairs(input, 'lifetime').map(([name, value]) => [
    name,
    value === '' ? removed : Number(value),
  ]);
  return given.length === 0 ? {} : { lifetimes: Object.fromEntries(given) };
}

/** The JSON form of a client. It contains key ids, never keys. */
export function shownClient({ version: _version, source: _source, ...client }: ClientView) {
  return client;
}

const add: Command = {
  usage: 'clients add <clientId>',
  summary: 'Register a client. Prints the new secure key once.',
  options: {
    ...members.options,
    ...lifetimeOption,
    'secure-key-stdin': 'Read the secure key from standard input.',
  },
  example: 'backend --org acme --scope device:read --signature-algorithm HMAC-SHA-256',
  async run(input, { operators, operator, terminal }) {
    const { clientId = '' } = input.positionals;
    const given = { ...members.read(input), ...(await readKeys(members.read(input), terminal)) };
    const named = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
    const isSupplied = input.options.secureKeyStdin === true;
    const supplied = isSupplied ? await terminal.readSecret('Secure key') : undefined;
    const definition = { name: clientId, ...named, ...readLifetimes(input, undefined), clientId };
    const { client, secureKey } = await operators.clients.create(operator, {
      ...(definition as NewClient),
      secureKey: supplied,
    });
    return {
      json: { client: shownClient(client), secureKey },
      text: lines(
        `Added the client ${clientId}.`,
        secureKey && `Secure key (shown once): ${secureKey}`,
      ),
    };
  },
};

const list: Command = {
  usage: 'clients list',
  summary: 'List all clients, also those that metadata documents describe.',
  options: filterOptions,
  example: '--org acme --disabled',
  async run(input, { operators }) {
    const clients = await readPages(input, Number.POSITIVE_INFINITY, (page) =>
      operators.clients.list({ ...readFilter(input), ...page }),
    );
    const rows = clients.map((client) => [
      client.clientId,
      client.orgId,
      client.enabled ? 'enabled' : 'disabled',
      client.public ? 'public' : `${client.keys.length + client.publicKeyIds.length} key(s)`,
      formatUse(client.lastUsedAt),
      client.name,
    ]);
    return {
      json: { clients: clients.map(shownClient) },
      text: formatTable([['CLIENT', 'ORGANIZATION', 'STATE', 'KEYS', 'LAST USE', 'NAME'], ...rows]),
    };
  },
};

const change: Command = {
  usage: 'clients change <clientId>',
  summary: 'Change settings of a client, disable it, or enable it. Other settings stay the same.',
  options: {
    ...members.allOptions,
    ...lifetimeOption,
    disable: 'Reject the client immediately, and revoke everything issued to it.',
    enable: 'Enable a disabled client. Revoked tokens stay revoked.',
    ...yesOption,
  },
  notes: [
    'Moving a client with --org revokes everything issued to it.',
    'A list option such as --scope replaces the whole list. An empty value clears it.',
    'If BOOTSTRAP_FILE defines the client, the next start of a server restores that definition.',
  ],
  example: 'backend --add-scope device:write --no-first-party',
  async run(input, { operators, operator, terminal, confirm }) {
    const { clientId = '' } = input.positionals;
    const enabled = readEnabled(input);
    const isChanged = members.isNamed(input) || pairs(input, 'lifetime').length > 0;
    if (!isChanged && enabled === undefined) {
      throw new UsageError('Set at least one option.', ['gatehouse clients change --help']);
    }
    const { client: existing } = await operators.clients.read(clientId);
    const { version: ifVersion, orgId } = existing;
    const wanted: ClientChange = {
      ...members.change(existing, input),
      ...(await readKeys(members.read(input), terminal)),
      ...readLifetimes(input, null),
      enabled,
    };
    const effect = await operators.clients.previewChange(clientId, wanted);
    if (effect.revokes) {
      const moving = effect.movesFrom
        ? `moves ${clientId} from ${orgId} to ${wanted.orgId} and `
        : '';
      await confirm(`This ${moving}revokes everything issued to ${clientId}. Continue?`);
    }
    if (effect.deletesKeys) {
      await confirm(
        `A public client has no secure key. This deletes the secure keys of ${clientId}. Continue?`,
      );
    }
    // What the operator saw and confirmed. Another operator may have changed the client since.
    const client = await operators.clients.change(operator, clientId, wanted, { ifVersion });
    const done = enabled === undefined ? 'Changed' : enabled ? 'Enabled' : 'Disabled';
    const hasKey = client.public || client.keys.length + client.publicKeyIds.length > 0;
    const hint = `It has no secure key. To create one, run gatehouse clients rotate-key ${clientId}`;
    return {
      json: { client: shownClient(client) },
      text: lines(`${done} the client ${clientId}.`, !hasKey && hint),
    };
  },
};

const show: Command = {
  usage: 'clients show <clientId>',
  summary: 'Show the settings of a client, the ids of its keys, and when they were last used.',
  example: 'backend',
  async run({ positionals: { clientId = '' } }, { operators }) {
    const { client, lastUse } = await operators.clients.read(clientId);
    const described = shownClient(client);
    const used = (keyId: string) => `  last used ${formatUse(lastUse.keys[keyId])}`;
    const { keys, keptKeyIds, publicKeyIds: publicIds, notBefore, ...others } = described;
    const { jwks: _keys, ...settings } = others;
    return {
      json: { client: described, lastUse },
      text: formatTable([
        ...rowsOf(settings),
        ['last use', formatUse(lastUse.at)],
        ['revoked before', notBefore === 0 ? 'never' : formatTime(notBefore)],
        ...keys.map(({ keyId, createdAt }) => [
          'key',
          `${keyId}  created ${formatTime(createdAt)}${used(keyId)}`,
        ]),
        ...publicIds.map((keyId) => ['public key', keyId + used(keyId)]),
        ...keptKeyIds.map((keyId) => ['removed key', `${keyId}  its tokens are still valid`]),
      ]),
    };
  },
};

const tokenMembers = createMemberOptions(registrationTokenSchema.shape, {
  'org <id>': 'Organization that owns the clients.',
  'count <number>': 'How many clients the token can register. Default: 1. Maximum: 100.',
  'valid-for <days>': 'When the token expires. Default: 7. Maximum: 365.',
  'scope <scope...>': 'Scope that the clients can have.',
  'redirect-host <host...>':
    'Host of redirect URIs, such as app.example, or the scheme of an app with its colon.',
});

const registrationToken: Command = {
  usage: 'clients registration-token',
  summary: 'Issue a token to register clients with (RFC 7591). Prints it once.',
  options: tokenMembers.options,
  notes: [
    'Send it as bearer token to POST /register of the authorization server.',
    'To revoke it, run gatehouse tokens revoke. Registered clients stay.',
  ],
  example: '--org acme --count 5 --scope billing:read --redirect-host localhost',
  async run(input, { operators, operator }) {
    const issued = await operators.clients.issueRegistrationToken(operator, {
      ...(tokenMembers.read(input) as RegistrationTokenInput),
    });
    const { token, expiresAt, ...allowed } = issued;
    return {
      json: { ...allowed, token, expiresAt },
      text: lines(
        `The token registers up to ${allowed.count} client(s) until ${formatTime(expiresAt)}.`,
        `Registration token (shown once): ${token}`,
      ),
    };
  },
};

export const clientCommands: readonly Command[] = [add, list, change, show, registrationToken];
