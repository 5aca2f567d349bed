import {
  type Client,
  clientSchema,
  generateSecureKey,
  hasPublicKeys,
  type Identity,
  keyChanges,
  publicKeyIds,
  RejectedChangeError,
} from '@gatehouse/identity';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  pairs,
  text,
  UsageError,
} from '../command-line/command.ts';
import { formatTable, formatUse } from '../command-line/format.ts';
import { filtered, filterOptions } from '../command-line/lists.ts';
import {
  assertOrganizationExists,
  createMemberOptions,
  type Keys,
  readEnabled,
  readKeys,
  validate,
} from '../command-line/member-options.ts';
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

/** The lifetimes of the client after the command. */
function readLifetimes(input: CommandInput, existing: unknown = {}) {
  const given = pairs(input, 'lifetime').map(([name, value]) => [
    name,
    value === '' ? undefined : Number(value),
  ]);
  return given.length === 0
    ? {}
    : { lifetimes: { ...Object(existing), ...Object.fromEntries(given) } };
}

/** The members of a record that a bootstrap file can define. */
function toDefinition(client: Client): Partial<Client> {
  const defined: ReadonlySet<string> = new Set(Object.keys(clientSchema.shape));
  return Object.fromEntries(Object.entries(client).filter(([member]) => defined.has(member)));
}

/** The JSON form of a client. It contains key ids, never keys. */
export function describeClient(client: Client, { clients }: Identity) {
  return {
    ...toDefinition(client),
    lifetimes: client.lifetimes,
    notBefore: client.notBefore,
    keys: clients.describeKeys(client),
    keptKeyIds: clients.keptKeyIds(client),
    publicKeyIds: publicKeyIds(client),
  };
}

export async function findClient(clientId: string, { clients }: Identity): Promise<Client> {
  const client = await clients.find(clientId);
  if (client === undefined) {
    throw new RejectedChangeError(
      `The client ${clientId} does not exist. Run gatehouse clients list.`,
    );
  }
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
  async run(input, { identity, terminal, audit }) {
    const { clientId = '' } = input.positionals;
    const keys = await readKeys(members.read(input), terminal);
    const given: Readonly<Record<string, unknown>> = { ...members.read(input), ...keys };
    const isSupplied = input.options.secureKeyStdin === true;
    const supplied = isSupplied ? await terminal.readSecret('Secure key') : undefined;
    const needsKey = given.public !== true && !hasPublicKeys(keys);
    const secureKey = supplied ?? (needsKey ? generateSecureKey() : undefined);
    const { secureKey: _checked, ...definition } = validate(clientSchema, {
      name: clientId,
      ...given,
      ...readLifetimes(input),
      clientId,
      secureKey,
    });
    if ((await identity.clients.find(clientId)) !== undefined) {
      throw new RejectedChangeError(
        `The client ${clientId} already exists. To change it, run gatehouse clients change.`,
      );
    }
    await assertOrganizationExists(definition.orgId, identity);
    const client = await identity.clients.save(definition, secureKey);
    const [key] = identity.clients.describeKeys(client);
    await audit({ event: 'client_changed', clientId, change: 'added', keyId: key?.keyId });
    const shown = isSupplied ? undefined : secureKey;
    return {
      json: { client: describeClient(client, identity), secureKey: shown },
      text: [
        `Added the client ${clientId}.`,
        ...(shown === undefined ? [] : [`Secure key (shown once): ${shown}`]),
      ].join('\n'),
    };
  },
};

const list: Command = {
  usage: 'clients list',
  summary: 'List all clients, also those that metadata documents describe.',
  options: filterOptions,
  example: '--org acme --disabled',
  async run(input, { identity }) {
    const { clients: registry } = identity;
    const all = [...(await registry.list()), ...(await registry.listDocuments())];
    const clients = filtered(all, input, ['clientId', 'name']);
    const uses = await Promise.all(
      clients.map(({ clientId }) => identity.lastUse.ofClient(clientId)),
    );
    const rows = clients.map((client, i) => [
      client.clientId,
      client.orgId,
      client.enabled ? 'enabled' : 'disabled',
      client.public ? 'public' : `${identity.clients.keyIds(client).length} key(s)`,
      formatUse(uses[i]),
      client.name,
    ]);
    return {
      json: {
        clients: clients.map((client, i) => ({
          ...describeClient(client, identity),
          lastUsedAt: uses[i],
        })),
      },
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
  async run(input, context) {
    const { identity, audit } = context;
    const { clientId = '' } = input.positionals;
    const enabled = readEnabled(input);
    const isChanged = members.isNamed(input) || pairs(input, 'lifetime').length > 0;
    if (!isChanged && enabled === undefined) {
      throw new UsageError('Set at least one option.', ['gatehouse clients change --help']);
    }
    const existing = await findClient(clientId, identity);
    const orgId = text(input.options.org) ?? existing.orgId;
    const isMoved = orgId !== existing.orgId;
    if (isMoved) {
      await assertOrganizationExists(orgId, identity);
    }
    if (enabled === false || isMoved) {
      const moving = isMoved ? `moves ${clientId} from ${existing.orgId} to ${orgId} and ` : '';
      await context.confirm(`This ${moving}revokes everything issued to ${clientId}. Continue?`);
    }
    let client = isChanged ? await changeSettings(existing, input, context) : existing;
    if (enabled !== undefined) {
      // Enabling the client again must not restore its old tokens.
      client = enabled
        ? await identity.clients.update(clientId, (current) => ({ ...current, enabled }))
        : await identity.revocations.client(clientId, { enabled });
      await audit({ event: 'client_changed', clientId, change: enabled ? 'enabled' : 'disabled' });
    }
    if (enabled === false || isMoved) {
      await identity.revocations.deleteTokens(clientId);
    }
    const done = enabled === undefined ? 'Changed' : enabled ? 'Enabled' : 'Disabled';
    const hint =
      !client.public && identity.clients.keyIds(client).length === 0
        ? [`It has no secure key. To create one, run gatehouse clients rotate-key ${clientId}`]
        : [];
    return {
      json: { client: describeClient(client, identity) },
      text: [`${done} the client ${clientId}.`, ...hint].join('\n'),
    };
  },
};

async function changeSettings(
  existing: Client,
  input: CommandInput,
  { identity, audit, terminal, confirm }: CommandContext,
): Promise<Client> {
  const { clientId } = existing;
  const keys = await readKeys(members.read(input), terminal);
  const wanted = changedDefinition(existing, input, keys);
  if (wanted.public && identity.clients.describeKeys(existing).length > 0) {
    await confirm(
      `A public client has no secure key. This deletes the secure keys of ${clientId}. Continue?`,
    );
  }
  // Another operator may have changed other settings while this command waited.
  let before = existing;
  const client = await identity.clients.change(clientId, (current) => {
    before = current;
    return changedDefinition(current, input, keys);
  });
  const changes = identity.auditedChanges.ofClient(before, client);
  await audit({ event: 'client_changed', clientId, change: 'changed', changes });
  for (const change of keyChanges(existing, client, publicKeyIds)) {
    await audit(change);
  }
  return client;
}

/**
 * The settings of the client after the command.
 *
 * @throws UsageError if they are invalid
 */
function changedDefinition(client: Client, input: CommandInput, keys: Keys) {
  const wanted: Readonly<Record<string, unknown>> = {
    ...members.change({ ...toDefinition(client) }, input),
    ...{ jwks: client.jwks, jwksUri: client.jwksUri, ...keys },
    ...readLifetimes(input, client.lifetimes),
  };
  // The keys do not change here. The schema requires one, so any value will do.
  const secureKey = wanted.public === true ? undefined : generateSecureKey();
  const { secureKey: _unused, ...definition } = validate(clientSchema, { ...wanted, secureKey });
  return definition;
}

export const clientCommands: readonly Command[] = [add, list, change];
