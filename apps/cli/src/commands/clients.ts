import {
  type Client,
  clientSchema,
  generateSecureKey,
  type Identity,
  nextNotBefore,
  RefusedChange,
} from '@gatehouse/identity';
import { type Command, flag, UsageError } from '../command.ts';
import { formatTable, formatTime } from '../table.ts';
import { assertOrganizationExists, validate } from '../validate.ts';
import { assertSure, sureOption } from './assert-sure.ts';
import { clientOptions, givenMembers, toDefinition } from './client-options.ts';

const bootstrapNote =
  'A client that BOOTSTRAP_FILE names becomes what the file says at the next start of a server.';

/** A client as scripts see it: never a key, only what tells keys apart. */
export function viewClient(client: Client, { clients }: Identity) {
  return {
    ...toDefinition(client),
    notBefore: client.notBefore,
    keys: clients.describeKeys(client),
    keptKeyIds: client.keptKeyIds,
  };
}

export async function findClient(clientId: string, { clients }: Identity): Promise<Client> {
  const client = await clients.find(clientId);
  if (client === undefined) {
    throw new RefusedChange(`There is no client ${clientId}. gatehouse clients list shows all.`);
  }
  return client;
}

const add: Command = {
  name: 'clients add',
  summary: 'Register a client. Its secureKey is made and shown once.',
  positionals: ['clientId'],
  options: {
    ...clientOptions,
    'secure-key-stdin': { type: 'boolean', description: 'Read the secureKey from standard input.' },
  },
  async run(input, { identity, terminal, audit }) {
    const { clientId = '' } = input.positionals;
    const members = givenMembers(input);
    const isOwn = flag(input.options['secure-key-stdin']) === true;
    const given = isOwn ? await terminal.readSecret('secureKey') : undefined;
    const secureKey = members.public === true ? given : (given ?? generateSecureKey());
    const { secureKey: _checked, ...definition } = validate(clientSchema, {
      name: clientId,
      ...members,
      clientId,
      ...(secureKey === undefined ? {} : { secureKey }),
    });
    if ((await identity.clients.find(clientId)) !== undefined) {
      throw new RefusedChange(`The client ${clientId} exists already. Use clients change.`);
    }
    await assertOrganizationExists(definition.orgId, identity);
    const client = await identity.clients.save(definition, secureKey);
    const [key] = identity.clients.describeKeys(client);
    await audit({ event: 'client_changed', clientId, change: 'added', keyId: key?.keyId });
    const shown = isOwn || secureKey === undefined ? {} : { secureKey };
    return {
      json: { client: viewClient(client, identity), ...shown },
      text: [
        `Added the client ${clientId}.`,
        ...(shown.secureKey === undefined ? [] : [`secureKey (shown once): ${shown.secureKey}`]),
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
      client.public ? 'public' : `${client.sealedSecureKeys.length} key(s)`,
      client.name,
    ]);
    return {
      json: { clients: clients.map((client) => viewClient(client, identity)) },
      text: formatTable([['CLIENT', 'ORGANISATION', 'STATE', 'KEYS', 'NAME'], ...rows]),
    };
  },
};

const show: Command = {
  name: 'clients show',
  summary: 'Show what a client is registered with, and the ids of its keys.',
  positionals: ['clientId'],
  async run({ positionals: { clientId = '' } }, { identity }) {
    const client = await findClient(clientId, identity);
    const { keys, keptKeyIds, notBefore, ...members } = viewClient(client, identity);
    const rows = Object.entries(members).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(' ') : String(value),
    ]);
    return {
      json: { client: viewClient(client, identity) },
      text: formatTable([
        ...rows,
        ['revoked up to', notBefore === 0 ? 'never' : formatTime(notBefore)],
        ...keys.map(({ keyId, createdAt }) => ['key', `${keyId}  made ${formatTime(createdAt)}`]),
        ...keptKeyIds.map((keyId) => ['removed key', `${keyId}  its tokens stay valid`]),
      ]),
    };
  },
};

const change: Command = {
  name: 'clients change',
  summary: 'Change what a client is registered with. What is not named stays.',
  positionals: ['clientId'],
  options: { ...clientOptions, ...sureOption },
  notes: ['A list replaces the one there was; an empty value empties it.', bootstrapNote],
  async run(input, context) {
    const { identity, audit } = context;
    const { clientId = '' } = input.positionals;
    const members = givenMembers(input);
    if (Object.keys(members).length === 0) {
      throw new UsageError('Name at least one thing to change.', ['clients change --help']);
    }
    const existing = await findClient(clientId, identity);
    const wanted = { ...toDefinition(existing), ...members };
    // The keys stay what they are: the rule that asks for one is met by any.
    const placeholder = wanted.public === true ? {} : { secureKey: generateSecureKey() };
    const { secureKey: _unused, ...definition } = validate(clientSchema, {
      ...wanted,
      ...placeholder,
    });
    await assertOrganizationExists(definition.orgId, identity);
    if (definition.public && existing.sealedSecureKeys.length > 0) {
      await assertSure(input, context, {
        question: `A public client holds no secureKey: those of ${clientId} end for good. Sure?`,
        unchanged: `Nothing was changed: as a public client ${clientId} would lose its secureKeys for good.`,
      });
    }
    const client = await identity.clients.save(definition);
    await audit({ event: 'client_changed', clientId, change: 'changed' });
    const hint =
      !client.public && client.sealedSecureKeys.length === 0
        ? [`It has no secureKey yet: gatehouse clients rotate-key ${clientId}`]
        : [];
    return {
      json: { client: viewClient(client, identity) },
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
    async run({ positionals: { clientId = '' } }, { identity, audit, now }) {
      const client = await identity.clients.update(clientId, (existing) => ({
        ...existing,
        enabled,
        // What it had must not come back to life when it is enabled again.
        notBefore: enabled ? existing.notBefore : nextNotBefore(now()),
      }));
      await audit({ event: 'client_changed', clientId, change: `${verb}d` });
      return {
        json: { client: viewClient(client, identity) },
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
  toggle('disable', 'Refuse a client at once, and end all it was given for good.'),
  toggle('enable', 'Let a disabled client in again.'),
];
