import type * as Api from './api-types.ts';
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
  readonly ifVersion?: string | undefined;
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

const organizationCalls = ({ send, pages }: Calls) => ({
  list: (filter?: Pick<Api.ListFilter, 'search' | 'limit'>) =>
    pages<Api.Organization>('/organizations', filter),
  create: (
    body: Api.NewOrganization & { readonly reusesId?: boolean },
    options?: CreationOptions,
  ) => send<Api.Organization>('POST', '/organizations', body, options),
  read: (id: string) => send<Api.Organization>('GET', at`/organizations/${id}`),
  change: (id: string, body: Api.OrganizationChange, options?: ChangeOptions) =>
    send<Api.Organization>('PATCH', at`/organizations/${id}`, body, options),
  previewRemoval: (id: string) =>
    send<Api.OrganizationRemovalEffect>('GET', at`/organizations/${id}/removal`),
  remove: (id: string, options?: ChangeOptions) =>
    send<Api.OrganizationRemoval>('DELETE', at`/organizations/${id}`, undefined, options),
});

const clientCalls = ({ send, pages }: Calls) => ({
  list: (filter?: Api.ListFilter) => pages<Api.ClientList>('/clients', filter),
  create: (body: Api.NewClient, options?: CreationOptions) =>
    send<{ client: Api.Client; secureKey?: string }>('POST', '/clients', body, options),
  read: (clientId: string) => send<Api.ClientDetails>('GET', at`/clients/${clientId}`),
  change: (clientId: string, body: Api.ClientChange, options?: ChangeOptions) =>
    send<Api.Client>('PATCH', at`/clients/${clientId}`, body, options),
  previewChange: (clientId: string, body: Api.ClientChange) =>
    send<Api.ClientChangeEffect>('POST', at`/clients/${clientId}/preview`, body),
  previewRemoval: (clientId: string) =>
    send<Api.ClientRemoval>('GET', at`/clients/${clientId}/removal`),
  remove: (clientId: string, options?: ChangeOptions) =>
    send<Api.ClientRemoval>('DELETE', at`/clients/${clientId}`, undefined, options),
  addKey: (clientId: string, body: Api.KeyRotation = {}, options?: CreationOptions) =>
    send<Api.AddedKey>('POST', at`/clients/${clientId}/keys`, body, options),
  removeKey: (clientId: string, keyId: string, options?: Api.KeyRemoval) =>
    send<Api.Client>('DELETE', at`/clients/${clientId}/keys/${keyId}` + queryOf(options)),
  issueRegistrationToken: (body: Api.NewRegistrationToken, options?: CreationOptions) =>
    send<Api.AdminRegistrationToken>('POST', '/registration-tokens', body, options),
});

const userCalls = ({ send, pages }: Calls) => ({
  list: (filter?: Api.ListFilter) => pages<Api.UserList>('/users', filter),
  /** @param name a username, a verified address, or a user id */
  find: (name: string) => send<Api.User>('POST', '/users/find', { name }),
  create: (body: Api.NewUser, options?: CreationOptions) =>
    send<{ user: Api.User; password?: string }>('POST', '/users', body, options),
  read: (userId: string) => send<Api.UserDetails>('GET', at`/users/${userId}`),
  change: (userId: string, body: Api.UserChange, options?: ChangeOptions) =>
    send<Api.User>('PATCH', at`/users/${userId}`, body, options),
  previewChange: (userId: string, body: Api.UserChange) =>
    send<{ movesFrom?: string; signsOut: boolean }>('POST', at`/users/${userId}/preview`, body),
  previewRemoval: (userId: string) => send<Api.UserRemoval>('GET', at`/users/${userId}/removal`),
  remove: (userId: string, options?: ChangeOptions) =>
    send<Api.UserRemoval>('DELETE', at`/users/${userId}`, undefined, options),
  setPassword: (userId: string, password?: string, options?: CreationOptions) =>
    send<{ user: Api.User; password?: string }>(
      'POST',
      at`/users/${userId}/password`,
      { password },
      options,
    ),
  issueResetLink: (userId: string, options?: CreationOptions) =>
    send<{ token: string }>('POST', at`/users/${userId}/reset-link`, undefined, options),
  unlock: (userId: string) => send<Api.User>('POST', at`/users/${userId}/unlock`),
  resetFactors: (userId: string) => send<Api.User>('DELETE', at`/users/${userId}/factors`),
  endSession: (userId: string, sessionId: string) =>
    send<{ clientIds: string[] }>('DELETE', at`/users/${userId}/sessions/${sessionId}`),
  endGrants: (userId: string, clientId: string) =>
    send<{ grantIds: string[] }>('DELETE', at`/users/${userId}/applications/${clientId}`),
  invite: (body: Api.Invitation & { readonly isMailed?: boolean }, options?: CreationOptions) =>
    send<{ token: string }>('POST', '/invitations', body, options),
  withdrawInvitation: (email: string) => send<object>('POST', '/invitations/withdraw', { email }),
});

const installationCalls = ({ send, pages }: Calls) => ({
  tokens: {
    find: (token: string) => send<Api.TokenDescription>('POST', '/tokens/find', { token }),
    previewRevocation: (target: Api.RevocationTarget) =>
      send<Api.RevocationEffect>('POST', '/revocations/preview', target),
    revoke: (target: Api.RevocationTarget) =>
      send<Api.RevocationEffect>('POST', '/revocations', target),
  },
  signingKeys: {
    list: () => send<{ items: Api.SigningKey[] }>('GET', '/signing-keys'),
    rotate: (purpose: Api.SigningKey['purpose'], options?: CreationOptions) =>
      send<{ items: Api.SigningKey[] }>('POST', '/signing-keys', { purpose }, options),
  },
  audit: { list: (filter?: Api.AuditFilter) => pages<Api.AuditEntry>('/audit', filter) },
  requests: {
    list: (filter?: Api.RequestFilter) => pages<Api.RequestRecord>('/requests', filter),
    groups: (filter?: Api.RequestFilter) =>
      send<{ items: Api.RequestGroup[] }>('GET', `/requests/groups${queryOf(filter)}`),
    read: (requestId: string) =>
      send<{ requests: Api.RequestRecord[]; audit: Api.AuditEntry[] }>(
        'GET',
        at`/requests/${requestId}`,
      ),
  },
  declarations: {
    export: () => send<Api.Declarations>('GET', '/declarations'),
    plan: (body: Api.DeclarationsChange) =>
      send<Api.DeclarationsPlan>('POST', '/declarations/plan', body),
    /** After a failure, `problem` of the GatehouseError has `done`, `secureKeys` and `notDone`. */
    apply: (body: Api.DeclarationsChange, options?: CreationOptions & ChangeOptions) =>
      send<Api.AppliedDeclarations>('POST', '/declarations', body, options),
  },
  settings: {
    read: () => send<Api.SettingsDetails>('GET', '/settings'),
    preview: (member: string, value: unknown) =>
      send<{ changes: object[] }>('POST', at`/settings/${member}/preview`, value),
    replace: (member: string, value: unknown, options?: ChangeOptions) =>
      send<Api.Settings>('PUT', at`/settings/${member}`, value, options),
    remove: (member: string, options?: ChangeOptions) =>
      send<Api.Settings>('DELETE', at`/settings/${member}`, undefined, options),
  },
  supportBundle: () => send<object>('GET', '/support-bundle'),
});

function createCalls(fetch: GatehouseFetch) {
  async function send<Result>(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    { idempotencyKey, ifVersion }: CreationOptions & ChangeOptions = {},
  ): Promise<Result> {
    const response = await fetch(`/admin/v1${path}`, {
      method,
      headers: {
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
        ...(ifVersion !== undefined && { 'If-Match': `"${ifVersion}"` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const reply = await response.json().catch(() => undefined);
    if (response.ok && reply !== undefined) {
      return reply as Result;
    }
    const { code, detail, ...problem } = Object(reply);
    throw new GatehouseError(
      code ?? 'unexpected_reply',
      detail ?? 'The reply is not JSON of the management API.',
      { status: response.status, requestId: requestIdOf(response), problem },
    );
  }
  return {
    send,
    /** Yields one page after the other. */
    async *pages<Item>(path: string, filter?: object): AsyncGenerator<AdminPage<Item>, void> {
      let cursor: string | undefined;
      do {
        const page = await send<AdminPage<Item>>('GET', path + queryOf({ ...filter, cursor }));
        yield page;
        cursor = page.next;
      } while (cursor !== undefined);
    },
  };
}

/** A path with encoded parameters. */
const at = (parts: TemplateStringsArray, ...ids: readonly string[]) =>
  String.raw({ raw: parts }, ...ids.map(encodeURIComponent));

function queryOf(members: object = {}): string {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}
