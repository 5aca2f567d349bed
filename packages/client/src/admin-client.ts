import type {
  AdminRegistrationToken,
  AuditEntry,
  AuditFilter,
  Client,
  ClientChange,
  ClientDetails,
  ClientList,
  Invitation,
  KeyRemoval,
  KeyRotation,
  ListFilter,
  NewClient,
  NewOrganization,
  NewRegistrationToken,
  NewUser,
  Organization,
  OrganizationChange,
  RequestFilter,
  RequestGroup,
  RequestRecord,
  RevocationEffect,
  RevocationTarget,
  Settings,
  SettingsDetails,
  SigningKey,
  TokenDescription,
  User,
  UserChange,
  UserDetails,
  UserList,
} from './api-types.ts';
import type { GatehouseFetch } from './call.ts';
import { GatehouseError, requestIdOf } from './gatehouse-error.ts';

/** A part of a list, which can have no item although there are more. */
export interface AdminPage<Item> {
  readonly items: readonly Item[];
  readonly next?: string;
}

export interface CreationOptions {
  /** Send the same key again to get the same reply, with its secrets, within an hour. */
  readonly idempotencyKey?: string;
}

export interface ChangeOptions {
  /** `version` of the resource that you saw. A changed one is `precondition_failed`. */
  readonly ifVersion?: string;
}

/** The operations of `/admin/v1`. Each one throws a GatehouseError with a code of its document. */
export type AdminClient = ReturnType<typeof createAdminClient>;

/**
 * Does what operators do, through the console.
 *
 * @param fetch `createTokenFetch` or `createAccessTokenFetch` with the address of the console as
 *   `gateway`
 */
export function createAdminClient(fetch: GatehouseFetch) {
  const calls = createCalls(fetch);
  return {
    organizations: organizationCalls(calls),
    clients: clientCalls(calls),
    users: userCalls(calls),
    ...installationCalls(calls),
  };
}

type Calls = ReturnType<typeof createCalls>;

const at = (list: string, id: string, rest = '') => `${list}/${encodeURIComponent(id)}${rest}`;

const organizationCalls = ({ get, create, change, pages }: Calls) => ({
  list: (filter?: Pick<ListFilter, 'search' | 'limit'>) =>
    pages<Organization>('/organizations', filter),
  create: (body: NewOrganization & { readonly reusesId?: boolean }, options?: CreationOptions) =>
    create<Organization>('/organizations', body, options),
  read: (id: string) => get<Organization>(at('/organizations', id)),
  change: (id: string, body: OrganizationChange, options?: ChangeOptions) =>
    change<Organization>('PATCH', at('/organizations', id), body, options),
  previewRemoval: (id: string) =>
    get<{ organizationId: string; clientIds: string[]; users: number }>(
      at('/organizations', id, '/removal'),
    ),
  remove: (id: string, options?: ChangeOptions) =>
    change<{ organizationId: string; clients: number; users: number }>(
      ...(['DELETE', at('/organizations', id), undefined, options] as const),
    ),
});

const clientCalls = ({ get, send, create, change, pages }: Calls) => ({
  list: (filter?: ListFilter) => pages<ClientList>('/clients', filter),
  create: (body: NewClient, options?: CreationOptions) =>
    create<{ client: Client; secureKey?: string }>('/clients', body, options),
  read: (clientId: string) => get<ClientDetails>(at('/clients', clientId)),
  change: (clientId: string, body: ClientChange, options?: ChangeOptions) =>
    change<Client>('PATCH', at('/clients', clientId), body, options),
  previewChange: (clientId: string, body: ClientChange) =>
    send<{ changes: object[]; movesFrom?: string; revokes: boolean; deletesKeys: boolean }>(
      ...(['POST', at('/clients', clientId, '/preview'), body] as const),
    ),
  previewRemoval: (clientId: string) => get<Removal>(at('/clients', clientId, '/removal')),
  remove: (clientId: string, options?: ChangeOptions) =>
    change<Removal>('DELETE', at('/clients', clientId), undefined, options),
  addKey: (clientId: string, body: KeyRotation = {}, options?: CreationOptions) =>
    create<{ client: Client; secureKey: string; keyId: string; replacedKeyId?: string }>(
      ...([at('/clients', clientId, '/keys'), body, options] as const),
    ),
  removeKey: (clientId: string, keyId: string, options?: KeyRemoval) =>
    send<Client>('DELETE', at(at('/clients', clientId, '/keys'), keyId) + queryOf(options)),
  issueRegistrationToken: (body: NewRegistrationToken, options?: CreationOptions) =>
    create<AdminRegistrationToken>('/registration-tokens', body, options),
});

const userCalls = ({ get, send, create, change, pages }: Calls) => ({
  list: (filter?: ListFilter) => pages<UserList>('/users', filter),
  /** @param name a username, a verified address, or a user id */
  find: (name: string) => send<User>('POST', '/users/find', { name }),
  create: (body: NewUser, options?: CreationOptions) =>
    create<{ user: User; password?: string }>('/users', body, options),
  read: (userId: string) => get<UserDetails>(at('/users', userId)),
  change: (userId: string, body: UserChange, options?: ChangeOptions) =>
    change<User>('PATCH', at('/users', userId), body, options),
  previewChange: (userId: string, body: UserChange) =>
    send<{ movesFrom?: string; signsOut: boolean }>(
      ...(['POST', at('/users', userId, '/preview'), body] as const),
    ),
  previewRemoval: (userId: string) => get<UserRemoval>(at('/users', userId, '/removal')),
  remove: (userId: string, options?: ChangeOptions) =>
    change<UserRemoval>('DELETE', at('/users', userId), undefined, options),
  setPassword: (userId: string, password?: string, options?: CreationOptions) =>
    create<{ user: User; password?: string }>(
      ...([at('/users', userId, '/password'), { password }, options] as const),
    ),
  issueResetLink: (userId: string, options?: CreationOptions) =>
    create<{ token: string }>(at('/users', userId, '/reset-link'), undefined, options),
  unlock: (userId: string) => send<User>('POST', at('/users', userId, '/unlock')),
  resetFactors: (userId: string) => send<User>('DELETE', at('/users', userId, '/factors')),
  endSession: (userId: string, sessionId: string) =>
    send<{ clientIds: string[] }>('DELETE', at(at('/users', userId, '/sessions'), sessionId)),
  endGrants: (userId: string, clientId: string) =>
    send<{ grantIds: string[] }>('DELETE', at(at('/users', userId, '/applications'), clientId)),
  invite: (body: Invitation & { readonly isMailed?: boolean }, options?: CreationOptions) =>
    create<{ token: string }>('/invitations', body, options),
  withdrawInvitation: (email: string) => send<object>('POST', '/invitations/withdraw', { email }),
});

const installationCalls = ({ get, send, create, change, pages }: Calls) => ({
  tokens: {
    find: (token: string) => send<TokenDescription>('POST', '/tokens/find', { token }),
    previewRevocation: (target: RevocationTarget) =>
      send<RevocationEffect>('POST', '/revocations/preview', target),
    revoke: (target: RevocationTarget) => send<RevocationEffect>('POST', '/revocations', target),
  },
  signingKeys: {
    list: () => get<{ items: SigningKey[] }>('/signing-keys'),
    rotate: (purpose: SigningKey['purpose'], options?: CreationOptions) =>
      create<{ items: SigningKey[] }>('/signing-keys', { purpose }, options),
  },
  audit: { list: (filter?: AuditFilter) => pages<AuditEntry>('/audit', filter) },
  requests: {
    list: (filter?: RequestFilter) => pages<RequestRecord>('/requests', filter),
    groups: (filter?: RequestFilter) =>
      get<{ items: RequestGroup[] }>(`/requests/groups${queryOf(filter)}`),
    read: (requestId: string) =>
      get<{ requests: RequestRecord[]; audit: AuditEntry[] }>(at('/requests', requestId)),
  },
  settings: {
    read: () => get<SettingsDetails>('/settings'),
    preview: (member: string, value: unknown) =>
      send<{ changes: object[] }>('POST', at('/settings', member, '/preview'), value),
    replace: (member: string, value: unknown, options?: ChangeOptions) =>
      change<Settings>('PUT', at('/settings', member), value, options),
    remove: (member: string, options?: ChangeOptions) =>
      change<Settings>('DELETE', at('/settings', member), undefined, options),
  },
  supportBundle: () => get<object>('/support-bundle'),
});

interface Removal {
  readonly clientId: string;
  readonly orgId: string;
  readonly keys: number;
  readonly tokens: number;
}

interface UserRemoval {
  readonly userId: string;
  readonly username: string;
  readonly orgId: string;
  readonly sessions: number;
  readonly applications: number;
}

function createCalls(fetch: GatehouseFetch) {
  async function send<Result>(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Result> {
    const content = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const response = await fetch(`/admin/v1${path}`, {
      ...{ method, headers: { ...content, ...headers } },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const reply = await response.json().catch(() => undefined);
    if (response.ok && reply !== undefined) {
      return reply as Result;
    }
    const { code = 'unexpected_reply', detail = 'The reply is not JSON of the management API.' } =
      Object(reply);
    const { status } = response;
    throw new GatehouseError(code, detail, { status, requestId: requestIdOf(response) });
  }
  return {
    send,
    get: <Result>(path: string) => send<Result>('GET', path),
    create: <Result>(path: string, body: unknown, { idempotencyKey }: CreationOptions = {}) =>
      send<Result>(
        ...(['POST', path, body] as const),
        idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey },
      ),
    change: <Result>(
      method: string,
      path: string,
      body: unknown,
      { ifVersion }: ChangeOptions = {},
    ) =>
      send<Result>(
        ...([method, path, body] as const),
        ifVersion === undefined ? {} : { 'If-Match': `"${ifVersion}"` },
      ),
    /** Yields one page after the other. */
    async *pages<Item>(path: string, filter?: object): AsyncGenerator<AdminPage<Item>, void> {
      let cursor: string | undefined;
      do {
        const query = queryOf({ ...filter, ...(cursor !== undefined && { cursor }) });
        const page = await send<AdminPage<Item>>('GET', path + query);
        yield page;
        cursor = page.next;
      } while (cursor !== undefined);
    },
  };
}

function queryOf(members: object = {}): string {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}
