import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BrowserHost, Identity } from '@gatehouse/identity';
import { type AddressMatcher, observedRequest, type Router, type Tracer } from '@gatehouse/server';
import type { PresentedCredential, RequestTarget } from '@gatehouse/signing';
import type { Authenticate } from '../authentication/authenticate.ts';
import type { AuthenticationRequest, VerifiedRequest } from '../authentication/verified-request.ts';
import type { Forwarding } from '../forwarding/forward.ts';
import type { InternalTokenIssuer } from '../forwarding/internal-token.ts';
import { clientAddress, type Reply } from '../messages.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { Entry, Route, RouteMatch } from '../routes/route.ts';
import type { UpgradedConnection } from '../upstream/call.ts';
import type { AuditFailure } from './audit.ts';
import type { BrowserSignIn } from './browser-sign-in.ts';
import type { CrossOrigin } from './cross-origin.ts';
import type { AppliedLimit, RequestLimits } from './limits.ts';
import type { SignReply } from './reply-signature.ts';

/** What the stages need. */
export interface Pipeline {
  readonly router: Router<Entry>;
  readonly authenticate: Authenticate;
  readonly limits: RequestLimits;
  readonly forwarding: Forwarding;
  readonly issueInternalToken: InternalTokenIssuer;
  /** False: `/_verify` is a path like any other. */
  readonly forwardAuth: boolean;
  readonly browserSignIn: BrowserSignIn;
  /** Serves the only route without an upstream. */
  readonly issueXAccessToken: (request: Admitted) => Promise<Reply>;
  /** The public URL of the gateway, which identifies the device API. */
  readonly deviceApi: string;
  readonly settings: Identity['settings'];
  readonly lastUse: Pick<Identity['lastUse'], 'noteClient' | 'notePractice'>;
  readonly crossOrigin: CrossOrigin;
  readonly isTrustedProxy: AddressMatcher;
  readonly signReply: SignReply;
  readonly verificationDurations: GatewayMetrics['verificationDurations'];
  readonly auditFailure: AuditFailure;
  readonly now: () => number;
  /** Undefined while tracing is off. */
  readonly tracer: Tracer | undefined;
}

/** A request on its way through the stages, with the facts that they find out. */
export type Exchange = ReturnType<typeof createExchange>;

/** A request whose caller is verified and may use the route. */
export type Admitted = Exchange & { readonly verified: VerifiedRequest; readonly route: Route };

const NO_TARGET: RequestTarget = { path: '', sentPath: '', segments: [], query: '' };
const NO_CREDENTIAL: PresentedCredential = { kind: 'none', query: '' };

export function createExchange(
  message: IncomingMessage,
  response: ServerResponse,
  isTrustedProxy: AddressMatcher,
) {
  const observed = observedRequest(message);
  return {
    message,
    response,
    observed,
    notes: observed.notes,
    /** The address of the peer, or the one that a trusted proxy reports. */
    clientAddress: clientAddress(message, isTrustedProxy),
    /** Of the message, or of the request that a proxy asks about. */
    method: message.method ?? '',
    target: NO_TARGET,
    match: undefined as RouteMatch,
    /** The route of the match. Undefined for unknown paths and public documents. */
    route: undefined as Route | undefined,
    /** The host for whose browsers a proxy asks. */
    browser: undefined as BrowserHost | undefined,
    /** The cookie of its session. */
    browserToken: undefined as string | undefined,
    /** The resource that is declared with the host and path that a proxy asks about. */
    askedResource: undefined as string | undefined,
    bodyLimitBytes: 0,
    /** `none` until it is read. */
    credential: NO_CREDENTIAL,
    verified: undefined as VerifiedRequest | undefined,
    /** Only of an upgrade that an upstream accepted. */
    connection: undefined as UpgradedConnection | undefined,
    /**
     * Whether the store did not answer. Nothing else then waits for it, because each wait would
     * delay the 503 by another deadline.
     */
    storeFailed: false,
    appliedLimits: [] as AppliedLimit[],
  } satisfies AuthenticationRequest & Record<string, unknown>;
}

/** Returns a reply to end the request, or undefined to continue. @throws ApiError */
export type Stage = (
  exchange: Exchange,
  pipeline: Pipeline,
) => Reply | undefined | Promise<Reply | undefined>;
