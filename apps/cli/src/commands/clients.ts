import {
  type Client,
  clientSchema,
  generateSecureKey,
  type Identity,
  nextNotBefore,
  RejectedChangeError,
} from '@gatehouse/identity';
import { type Command, type CommandInput, flag, UsageError } from '../command-line/command.ts';
import { formatTable, formatTime } from '../command-line/table.ts';
import { assertOrganizationExists, validate } from '../command-line/validate.ts';
import { assertConfirmed, yesOption } from './assert-confirmed.ts';
import {
  changedLists,
  clientOptions,
  listChangeOptions,
  membersFromOptions,
  namesSettings,
  toDefinition,
} from './client-options.ts';

const bootstrapNote =
  'If BOOTSTRAP_FILE defines the client, the next start of a server restores that definition.';

/** The JSON form of a client. It contains key ids, never keys. */
export function describeClient(client: Client, { clients }: Identity) {
  return {
    ...toDefinition(client),
    notBefore: client.notBefore,
    keys: clients.describeKeys(client),
    keptKeyIds: clients.keptKeyIds(client),
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

const activeKeys = ({ keys }: Client) => keys.filter(({ state }) => state === 'active').length;

const add: Command = {
  name: 'clients add',
  summary: 'Register a client. Prints the new secure key once.',
  positionals: ['clientId'],
  options: {
    ...clientOptions,
    'secure-key-stdin': {
      type: 'boolean',
      description: 'Read the secure key from standard input.',
    },
  },
  async run(input, { identity, terminal, audit }) {
    const { clientId = '' } = input.positionals;
    const members = membersFromOptions(input);
    const isSupplied = flag(input.options['secure-key-stdin']) === true;
    const supplied = isSupplied ? await terminal.readSecret('Secure key') : undefined;
    const secureKey = members.public === true ? supplied : (supplied ?? generateSecureKey());
    const { secureKey: _checked, ...definition } = validate(clientSchema, {
      name: clientId,
      ...members,
      clientId,
      ...(secureKey === undefined ? {} : { secureKey }),
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
    const shown = isSupplied || secureKey === undefined ? {} : { secureKey };
    return {
      json: { client: describeClient(client, identity), ...shown },
      text: [
        `Added the client ${clientId}.`,
        ...(shown.secureKey === undefined ? [] : [`Secure key (shown once): ${shown.secureKey}`]),
      ].join('\n'),
    };
  },
};

const list: Command = {
  name: 'clients list',
  summary: 'List all clients.',
  async run(_input, { identity }) {
    const clients = await identity.clients.list();
    const rows = clients.map((client) => [
      client.clientId,
      client.orgId,
      client.enabled ? 'enabled' : 'disabled',
      client.public ? 'public' : `${activeKeys(client)} key(s)`,
      client.name,
    ]);
    return {
      json: { clients: clients.map((client) => describeClient(client, identity)) },
      text: formatTable([['CLIENT', 'ORGANIZATION', 'STATE', 'KEYS', 'NAME'], ...rows]),
    };
  },
};

const show: Command = {
  name: 'clients show',
  summary: 'Show the settings of a client and the ids of its keys.',
  positionals: ['clientId'],
  async run({ positionals: { clientId = '' } }, { identity }) {
    const client = await findClient(clientId, identity);
    const { keys, keptKeyIds, notBefore, ...members } = describeClient(client, identity);
    const rows = Object.entries(members).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(' ') : String(value),
    ]);
    return {
      json: { client: describeClient(client, identity) },
      text: formatTable([
        ...rows,
        ['revoked before', notBefore === 0 ? 'never' : formatTime(notBefore)],
        ...keys.map(({ keyId, createdAt }) => [
          'key',
          `${keyId}  created ${formatTime(createdAt)}`,
        ]),
        ...keptKeyIds.map((keyId) => ['removed key', `${keyId}  its tokens are still valid`]),
      ]),
    };
  },
};

/**
 * The settings of the client after the command.
 *
 * @throws RejectedChangeError if they are invalid
 */
function changedDefinition(client: Client, input: CommandInput) {
  const replaced = { ...toDefinition(client), ...membersFromOptions(input) };
  const wanted = { ...replaced, ...changedLists(replaced, input) };
  // The keys do not change here. The schema requires one, so any value will do.
  const placeholder = wanted.public === true ? {} : { secureKey: generateSecureKey() };
  const { secureKey: _unused, ...definition } = validate(clientSchema, {
    ...wanted,
    ...placeholder,
  });
  return definition;
}

const change: Command = {
  name: 'clients change',
  summary: 'Change settings of a client. Other settings stay the same.',
  positionals: ['clientId'],
  options: { ...clientOptions, ...listChangeOptions, ...yesOption },
  notes: [
    'A list option such as --scope replaces the whole list. An empty value clears it.',
    bootstrapNote,
  ],
  async run(input, context) {
    const { identity, audit } = context;
    const { clientId = '' } = input.positionals;
    if (!namesSettings(input)) {
      throw new UsageError('Set at least one option.', ['gatehouse clients change --help']);
    }
    const existing = await findClient(clientId, identity);
    const wanted = changedDefinition(existing, input);
    await assertOrganizationExists(wanted.orgId, identity);
    const losesKeys = wanted.public && activeKeys(existing) > 0;
    if (losesKeys) {
      await assertConfirmed(
        input,
        context,
        `A public client has no secure key. This deletes the secure keys of ${clientId}. Continue?`,
      );
    }
    // Another operator may have changed the client while this command waited.
    const client = await identity.clients.change(clientId, (current) => {
      const definition = changedDefinition(current, input);
      if (definition.public && activeKeys(current) > 0 && !losesKeys) {
        throw new RejectedChangeError(
          'Nothing was changed. Another command changed the client. Try again.',
        );
      }
      return definition;
    });
    await audit({ event: 'client_changed', clientId, change: 'changed' });
    const hint =
      !client.public && activeKeys(client) === 0
        ? [`It has no secure key. To create one, run gatehouse clients rotate-key ${clientId}`]
        : [];
    return {
      json: { client: describeClient(client, identity) },
      text: [`Changed the client ${clientId}.`, ...hint].join('\n'),
    };
  },
};

function toggle(verb: 'enable' | 'disable', summary: string): Command {
  const enabled = verb === 'enable';
  return {
    name: `clients ${verb}`,
    summary,
    positionals: ['clientId'],
    ...(enabled ? {} : { options: yesOption }),
    async run(input, context) {
      const { identity, audit, now } = context;
      const { clientId } = await findClient(input.positionals.clientId ?? '', identity);
      if (!enabled) {
        await assertConfirmed(
          input,
          context,
          `This revokes everything issued to ${clientId}. Continue?`,
        );
      }
      const client = await identity.clients.update(clientId, (existing) => ({
        ...existing,
        enabled,
        // Enabling the client again must not restore its old tokens.
        notBefore: enabled ? existing.notBefore : nextNotBefore(now()),
      }));
      await audit({ event: 'client_changed', clientId, change: `${verb}d` });
      if (!enabled) {
        await identity.revocations.deleteTokens(clientId);
      }
      return {
        json: { client: describeClient(client, identity) },
        text: `The client ${clientId} is ${verb}d.`,
      };
    },
  };
}

export const clientCommands: readonly Command[] = [
  add,
  list,
  show,
  change,
  toggle('disable', 'Reject a client immediately and revoke everything issued to it.'),
  toggle('enable', 'Enable a disabled client. Revoked tokens stay revoked.'),
];
