/** Registered OAuth clients, without their keys. */
import {
  type Client,
  CONSOLE_CLIENT_ID,
  clientChangesOf,
  clientDefinition,
  clientSchema,
  generateSecureKey,
  type Identity,
  nextNotBefore,
  type PageQuery,
  publicKeyIds,
  registrationTokenSchema,
} from '@gatehouse/identity';
import { z } from 'zod';
import {
  assertOrganizationExists,
  assertVersion,
  type Condition,
  changeOf,
  type Dependencies,
  listMembers,
  type memberFilter,
  type Operator,
  OperatorError,
  orNotFound,
  type Page,
  parseInput,
  version,
  viewOf,
  withChange,
  withMembers,
  withVersion,
} from './operator.ts';

const { shape: members } = clientDefinition;
const { clientId: _id, ...changeable } = members;

/** A client. Keys are named by id. Times are epoch seconds. */
export const clientView = z.object({
  ...viewOf(members),
  enabled: z.boolean(),
  /** Credentials that were issued at this time or earlier are revoked. */
  notBefore: z.number(),
  /** The active secure keys, newest first. */
  keys: z.array(z.object({ keyId: z.string(), createdAt: z.number().optional() })),
  /** Removed keys whose tokens stay valid until they expire. */
  keptKeyIds: z.array(z.string()),
  publicKeyIds: z.array(z.string()),
  /** Who described it: an operator, its metadata document, or a dynamic registration. */
  source: z.enum(['operator', 'document', 'registration']),
  version,
});

export type ClientView = Readonly<z.output<typeof clientView>>;

export const listedClient = clientView.extend({ lastUsedAt: z.number().optional() });
export type ListedClient = Readonly<z.output<typeof listedClient>>;

/** `secureKey` supplies a key. Without it, a client that needs one gets a new one. */
export const newClient = clientSchema;
export type NewClient = z.input<typeof clientSchema>;

/** Members and lifetimes that are absent stay. Null removes one. */
export const clientChange = changeOf(changeable).extend({
  enabled: z.boolean().optional(),
  lifetimes: changeOf(members.lifetimes.unwrap().shape).nullish(),
});
export type ClientChange = z.input<typeof clientChange>;

export type RegistrationTokenInput = z.input<typeof registrationTokenSchema>;

export function toClientView(client: Client, { clients }: Identity): ClientView {
  const source = client.registration ? 'registration' : 'operator';
  return withVersion({
    ...definitionOf(client),
    lifetimes: client.lifetimes,
    notBefore: client.notBefore,
    keys: clients.describeKeys(client),
    keptKeyIds: clients.keptKeyIds(client),
    publicKeyIds: publicKeyIds(client),
    source: client.document ? 'document' : source,
  }) as ClientView;
}

/** @throws OperatorError if the client does not exist */
export const findClient = async (clientId: string, { clients }: Identity): Promise<Client> =>
  orNotFound(await clients.find(clientId), `The client ${clientId} does not exist.`);

/** A client with a record. @throws OperatorError if there is none */
export async function findRecordedClient(clientId: string, identity: Identity): Promise<Client> {
  const client = await findClient(clientId, identity);
  if (clientId === CONSOLE_CLIENT_ID) {
    throw new OperatorError(
      'conflict',
      `The client ${clientId} is part of Gatehouse, and cannot be changed or removed.`,
    );
  }
  return client;
}

/** The members of a record that a bootstrap file can define. */
export function definitionOf(client: Client): Partial<Client> {
  const names = Object.keys(members) as (keyof Client)[];
  return Object.fromEntries(names.map((name) => [name, client[name]]));
}

/** Where a page begins: in the registered clients, or in those of metadata documents. */
const place = z.tuple([z.enum(['registered', 'document']), z.string()]);
type Place = z.output<typeof place>;

export function createClientActs(dependencies: Dependencies) {
  const { identity, record } = dependencies;
  const { clients, lastUse } = identity;
  const view = (client: Client) => toClientView(client, identity);

  return {
    ...createClientChanges(dependencies),

    /** The registered clients, in the order of their ids or names. Then those of documents. */
    list: (filter: z.input<typeof memberFilter> = {}): Promise<Page<ListedClient>> =>
      listMembers(
        filter,
        place,
        (query) => pageOfClients(query, identity),
        async (client: Client) => ({
          ...view(client),
          lastUsedAt: await lastUse.ofClient(client.clientId),
        }),
      ),

    /** A client, and when it and its keys were last used. */
    async read(clientId: string) {
      const client = await findClient(clientId, identity);
      const uses = clients
        .keyIds(client)
        .map(async (id) => [id, await lastUse.ofKey(clientId, id)] as const);
      const keys = Object.fromEntries(await Promise.all(uses));
      return { client: view(client), lastUse: { at: await lastUse.ofClient(clientId), keys } };
    },

    /** @returns the client, and its new secure key, unless the operator supplied it or it needs none */
    async create(operator: Operator, input: NewClient) {
      const isSupplied = input.secureKey !== undefined;
      const needsKey = input.public !== true && !input.jwks && !input.jwksUri;
      const secureKey = input.secureKey ?? (needsKey ? generateSecureKey() : undefined);
      const { secureKey: _key, ...definition } = parseInput(newClient, { ...input, secureKey });
      const { clientId } = definition;
      if ((await clients.find(clientId)) !== undefined) {
        throw new OperatorError('duplicate_key', `The client ${clientId} already exists.`);
      }
      await assertOrganizationExists(definition.orgId, identity);
      const client = await clients.add(definition, secureKey);
      const keyId = clients.describeKeys(client)[0]?.keyId;
      await record(operator, { event: 'client_changed', clientId, change: 'added', keyId });
      return { client: view(client), secureKey: isSupplied ? undefined : secureKey };
    },

    /** A token with which its holder registers clients (RFC 7591). It is shown only once. */
    async issueRegistrationToken(operator: Operator, input: RegistrationTokenInput) {
      const allowed = parseInput(registrationTokenSchema, input);
      await assertOrganizationExists(allowed.orgId, identity);
      const issued = await identity.registrationTokens.issue(allowed);
      await record(operator, { event: 'registration_token_issued', count: allowed.count });
      return { ...allowed, ...issued };
    },
  };
}

/** The records of documents expire, so that no index has them in order. */
async function pageOfClients(
  query: Omit<PageQuery<Client>, 'after'> & { readonly after: Place | undefined },
  { clients }: Identity,
) {
  const { search = '', orgId, matches, limit, after: [kind, after] = ['registered', ''] } = query;
  const registered =
    kind === 'registered' ? await clients.page({ ...query, after: after || undefined }) : none;
  const start = kind === 'document' ? after : '';
  const isFound = ({ clientId, name }: Client) =>
    [clientId, name].some((each) => each.toLowerCase().includes(search.toLowerCase()));
  const left = (registered.next === undefined ? await clients.listDocuments() : [])
    .filter((client) => client.clientId > start && isFound(client))
    .filter((client) => orgId === undefined || client.orgId === orgId)
    .filter((client) => matches?.(client) !== false)
    .sort((a, b) => (a.clientId < b.clientId ? -1 : 1));
  const described = left.slice(0, limit - registered.items.length);
  const last = left.length > described.length ? (described.at(-1)?.clientId ?? start) : undefined;
  const next: Place = registered.next ? ['registered', registered.next] : ['document', last ?? ''];
  const isEnd = registered.next === undefined && last === undefined;
  return { items: [...registered.items, ...described], next: isEnd ? undefined : next };
}

const none = { items: [], next: undefined };

/** Changes and removals, with what they take away. */
function createClientChanges({ identity, now, record }: Dependencies) {
  const { clients } = identity;
  const view = (client: Client) => toClientView(client, identity);

  async function previewChange(clientId: string, input: ClientChange) {
    const change = parseInput(clientChange, input);
    const client = await findRecordedClient(clientId, identity);
    const after = changedDefinition(client, change);
    const effect = effectOf(client, { ...after, enabled: change.enabled }, identity);
    await (effect.movesFrom && assertOrganizationExists(after.orgId, identity));
    return {
      changes: clientChangesOf(client, { ...client, ...after }),
      ...effect,
    };
  }

  async function previewRemoval(clientId: string) {
    const client = await findRecordedClient(clientId, identity);
    if (client.document !== undefined) {
      throw new OperatorError(
        'conflict',
        `A metadata document describes ${clientId}, which would return with its next sign-in. Disable it instead.`,
      );
    }
    const tokens = await identity.removals.countTokens(clientId);
    return { clientId, orgId: client.orgId, keys: clients.keyIds(client).length, tokens };
  }

  return {
    previewChange,

    /** Changes settings, disables or enables. Disabling and moving revoke everything issued. */
    async change(
      operator: Operator,
      clientId: string,
      input: ClientChange,
      condition: Condition = {},
    ): Promise<ClientView> {
      const { revokes } = await previewChange(clientId, input);
      const { enabled, ...change } = parseInput(clientChange, input);
      // Enabling the client again must not restore its old tokens.
      const state = enabled === false ? { notBefore: nextNotBefore(now()) } : {};
      const { after, events } = await identity.auditedChanges.changeClient(clientId, (current) => {
        assertVersion(view(current), condition);
        return { ...changedDefinition(current, change), enabled, ...state };
      });
      await record(operator, ...events);
      await (revokes && identity.revocations.deleteTokens(clientId));
      return view(after);
    },

    previewRemoval,

    /** Removes the client with its keys, and revokes everything issued to it. */
    async remove(operator: Operator, clientId: string, condition: Condition = {}) {
      const removed = await previewRemoval(clientId);
      await identity.removals.client(
        await findClient(clientId, identity),
        (event) => record(operator, event),
        (current) => assertVersion(view(current), condition),
      );
      return removed;
    },
  };
}

/** What a change of a client takes away. */
export function effectOf(
  client: Client,
  after: Pick<Client, 'orgId' | 'public'> & { readonly enabled?: boolean | undefined },
  { clients }: Identity,
) {
  const movesFrom = after.orgId === client.orgId ? undefined : client.orgId;
  return {
    movesFrom,
    /** Everything issued to the client ends. */
    revokes: after.enabled === false || movesFrom !== undefined,
    deletesKeys: after.public && clients.describeKeys(client).length > 0,
  };
}

/** The settings of the client after a change. @throws OperatorError if they are invalid */
export function changedDefinition(client: Client, change: Omit<ClientChange, 'enabled'>) {
  const lifetimes = change.lifetimes && withMembers(client.lifetimes, change.lifetimes);
  const wanted = withChange(definitionOf(client), { ...change, lifetimes });
  const { enabled: _state, ...definition } = parseInput(clientDefinition, wanted);
  return definition;
}
