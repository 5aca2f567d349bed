/**
 * OAuth Client ID Metadata Documents: a client without a registration, whose id is the address of a
 * document. The library fetches and checks the document when an authorization starts. From it, this
 * file keeps a record, which every later step and the gateway read like that of a registered client:
 *
 *   /authorize or /par ─▶ host accepted? limits ─▶ guarded fetch (library) ─▶ record for two hours
 *   consent            ─▶ the record is kept as long as what the user allowed
 *
 * Not here: which hosts and scopes are accepted (packages/identity), and the page that asks.
 */
import {
  builtInClient,
  type Client,
  documentHost,
  documentScopes,
  grantSeconds,
  type Identity,
  isAllowedRedirectUri,
  lifetimesOf,
  redirectUriProblem,
} from '@gatehouse/identity';
import { createRateLimiter } from '@gatehouse/store';
import {
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  type Client as LibraryClient,
} from 'oidc-provider';
import type { GuardedFetch } from '../guarded-fetch.ts';
import { addressGroupOf } from '../requests/caller.ts';
import { TryLaterError } from '../requests/failures.ts';
import { lifetimes } from '../requests/lifetimes.ts';
import { contextOf } from '../requests/request-context.ts';
import { REGISTRATION_PATH } from '../requests/routes.ts';
import { documentLimits } from '../throttle/limits.ts';
import { chargeBudgets } from '../throttle/stored-budgets.ts';
import { currentContext, currentRequest, type ProviderMiddleware } from './library.ts';
import { settingsOf } from './resources.ts';

/** A sign-in takes at most this long, from the document to the code. */
const SIGN_IN_SECONDS = lifetimes.Interaction + lifetimes.AuthorizationCode;
const MAXIMUM_DOCUMENT_BYTES = 5 * 1024;
/** What the record of a document costs the store, at most. */
const RECORD_BYTES = 8 * 1024;
const MAXIMUM_REDIRECT_URIS = 20;
const grantTypes = ['authorization_code', 'refresh_token'] as const;
const startingRoutes: readonly string[] = ['authorization', 'pushed_authorization_request'];

export type MetadataDocuments = ReturnType<typeof createMetadataDocuments>;

export function createMetadataDocuments(identity: Identity) {
  const { clients, store } = identity;
  const limiters = (['address', 'host'] as const).map((party) =>
    createRateLimiter(`document-${party}`, documentLimits[party], { store, now: Date.now }),
  );

  async function assertFetchAllowed(context: KoaContextWithOIDC, host: string): Promise<void> {
    for (const [i, party] of [addressGroupOf(context.req), host].entries()) {
      const verdict = await limiters[i]?.take(party);
      if (verdict?.allowed !== true) {
        const message = 'Too many metadata documents for this address, or of this host.';
        throw new TryLaterError('request_limit', verdict?.resetsAt ?? Date.now(), message);
      }
    }
  }

  async function remember(context: KoaContextWithOIDC, client: LibraryClient): Promise<void> {
    const settings = settingsOf(context);
    const described = describe(client, settings.clientIdMetadata.hosts);
    const known = await clients.find(client.clientId);
    const wanted = { ...described, scopes: documentScopes(described.scopes, settings) };
    const members = ['name', 'applicationType', 'grantTypes', 'redirectUris', 'scopes'] as const;
    const isSame = members.every(
      (member) => JSON.stringify(known?.[member]) === JSON.stringify(wanted[member]),
    );
    const now = Math.floor(Date.now() / 1000);
    const { expiresAt = Number.POSITIVE_INFINITY } = known?.document ?? { expiresAt: 0 };
    if (isSame && expiresAt >= now + SIGN_IN_SECONDS) {
      return;
    }
    const payer = `address:${addressGroupOf(context.req)}`;
    const charge = { kind: 'pending', payer, seconds: 2 * SIGN_IN_SECONDS } as const;
    await keepRecord(client.clientId, charge, identity, described);
  }

  return {
    feature: {
      enabled: true,
      ack: 'draft-02',
      // The library also has a cache, which does not know what an operator disabled.
      allowFetch: async (context, clientId) =>
        isReadingDocument(clientId) &&
        assertFetchAllowed(context, new URL(clientId).hostname).then(() => true),
      allowClient: async (context, client) =>
        isReadingDocument(client.clientId) && remember(context, client).then(() => true),
    } satisfies NonNullable<Configuration['features']>['clientIdMetadataDocument'],
    /**
     * Reads the document of the client, once a request, when an authorization starts. The adapter
     * finds no client meanwhile, so that the library reads it.
     */
    async read(clientId: string, findInLibrary: (clientId: string) => unknown): Promise<void> {
      const context = currentContext();
      const found = currentRequest();
      if (
        found.readDocument !== undefined ||
        context === undefined ||
        !startingRoutes.includes(context.oidc.route) ||
        documentHost(clientId, settingsOf(context)) === undefined
      ) {
        return;
      }
      const record = await clients.find(clientId);
      if (record === undefined || (record.document !== undefined && record.enabled)) {
        found.readDocument = { clientId, isReading: true };
        try {
          await findInLibrary(clientId);
        } catch (error) {
          // Nobody can block a client that is known with many requests for other documents.
          if (!(error instanceof TryLaterError) || record === undefined) {
            throw error;
          }
        } finally {
          found.readDocument = { clientId, isReading: false };
        }
      }
    },
  };
}

/** Whether the library reads the document of this client now. */
export function isReadingDocument(clientId: string): boolean {
  const { readDocument } = currentRequest();
  return readDocument?.isReading === true && readDocument.clientId === clientId;
}

/** The library fetches documents only. Gatehouse itself fetches the keys of registered clients. */
export function libraryFetch(guardedFetch: GuardedFetch): NonNullable<Configuration['fetch']> {
  return async (address, { headers, signal } = {}) => {
    const reply = await guardedFetch(String(address), {
      headers: new Headers(headers),
      signal: signal ?? undefined,
      maximumBytes: MAXIMUM_DOCUMENT_BYTES,
    });
    return reply.status === 200 ? withRenamedScope(reply) : reply;
  };
}

/** The library rejects a document with a scope of a declared resource, which it does not know. */
async function withRenamedScope(reply: Response): Promise<Response> {
  const text = await reply.text();
  try {
    const { scope, ...document } = JSON.parse(text);
    const registeredScopes = typeof scope === 'string' ? scope.split(' ') : [];
    return Response.json({ ...document, registeredScopes }, { headers: reply.headers });
  } catch {
    // The library reports the problem.
    return new Response(text);
  }
}

/** The metadata announce only what operators allowed: documents of a host, and registrations. */
export function announceClients({ registrationTokens }: Identity): ProviderMiddleware {
  return async (context, next) => {
    await next();
    const { oidc, body } = context as KoaContextWithOIDC;
    if (oidc?.route !== 'discovery') {
      return;
    }
    const metadata = body as Record<string, unknown>;
    if (!contextOf(context.req).settings?.clientIdMetadata.hosts.length) {
      delete metadata.client_id_metadata_document_supported;
    }
    // Without the store, nobody can register.
    if (await registrationTokens.exist().catch(() => false)) {
      metadata.registration_endpoint = `${oidc.issuer}${REGISTRATION_PATH}`;
    }
  };
}

/**
 * The user allowed the access of the client, so its record is kept until everything that was issued
 * has expired. Later consents extend it.
 *
 * @throws TryLaterError if the user allowed too many new ones
 */
export async function keepDocument(
  { clientId, document }: Client,
  userId: string,
  identity: Identity,
): Promise<void> {
  const { expiresAt = Number.POSITIVE_INFINITY } = document ?? {};
  const lifetime = grantSeconds(lifetimesOf((await identity.settings.read()).lifetimes));
  if (expiresAt < Date.now() / 1000 + lifetime) {
    const charge = { kind: 'kept', payer: `user:${userId}`, seconds: 2 * lifetime } as const;
    await keepRecord(clientId, charge, identity);
  }
}

/** @throws TryLaterError if the records of the payer, or of all, are too many */
async function keepRecord(
  clientId: string,
  { kind, payer, seconds }: { kind: 'pending' | 'kept'; payer: string; seconds: number },
  { clients, store, settings }: Identity,
  described?: Parameters<typeof clients.rememberDocument>[2],
): Promise<void> {
  const isListed = documentHost(clientId, await settings.read())?.isListed === true;
  const { payerBytes, allBytes } = documentLimits[kind];
  await chargeBudgets(store, {
    ...{ name: `document-${kind}`, bytes: RECORD_BYTES, windowSeconds: seconds },
    budgets: [
      { party: payer, bytes: payerBytes },
      { party: isListed ? 'listed' : 'others', bytes: allBytes },
    ],
  });
  await clients.rememberDocument(clientId, Math.floor(Date.now() / 1000) + seconds, described);
}

/** @throws InvalidClientMetadata if Gatehouse cannot serve the client as the document describes it */
function describe(client: LibraryClient, hosts: readonly string[]) {
  const { clientId, clientName = '' } = client;
  if (client.tokenEndpointAuthMethod !== 'none') {
    throw new errors.InvalidClientMetadata('token_endpoint_auth_method must be none');
  }
  if (!client.grantTypes?.includes('authorization_code')) {
    throw new errors.InvalidClientMetadata('grant_types must contain authorization_code');
  }
  const { hostname } = new URL(clientId);
  const declared = client.redirectUris ?? [];
  const isNative =
    client.applicationType === 'native' || declared.some((uri) => uri.startsWith('http:'));
  const applicationType = isNative ? ('native' as const) : ('web' as const);
  // A file on a listed host must not send codes to any other host.
  const isOwn = (uri: string) => {
    const { protocol, hostname: target } = new URL(uri);
    return protocol !== 'https:' || target === hostname || hosts.includes(target);
  };
  const redirectUris = declared.filter(
    (uri) =>
      isAllowedRedirectUri(uri, applicationType) &&
      redirectUriProblem(uri, { applicationType, grantTypes }) === undefined &&
      isOwn(uri),
  );
  if (redirectUris.length === 0 || redirectUris.length > MAXIMUM_REDIRECT_URIS) {
    throw new errors.InvalidClientMetadata(
      `redirect_uris must have 1 to ${MAXIMUM_REDIRECT_URIS} entries on the host of the client_id or on loopback`,
    );
  }
  const name = clientName.replaceAll(/\p{C}/gu, '').trim().slice(0, 100);
  // An operator may have disabled the record meanwhile, so it keeps its state.
  const { enabled: _enabled, ...described } = builtInClient({
    ...{ clientId, name: name === '' ? hostname : name, redirectUris, applicationType },
    grantTypes: grantTypes.filter((type) => client.grantTypes?.includes(type)),
    scopes: client.registeredScopes as readonly string[],
    firstParty: false,
  });
  return described;
}
