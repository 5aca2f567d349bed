/**
 * Composes the provider: its own folder, and the parts that the folders of pages, endpoints and
 * grants own.
 */
import {
  createXAccessTokens,
  defaultSigningKeyPolicy,
  type Identity,
  keepSigningKeys,
  type MasterKey,
  type SigningKeyPolicy,
} from '@gatehouse/identity';
import { thisServer } from './audit/request-origin.ts';
import { formPostPage } from './authorize/form-post-page.ts';
import { redirectReply } from './authorize/redirect-reply.ts';
import { explainMistakes } from './client-endpoints/explain-mistakes.ts';
import { clientEndpointReply } from './client-endpoints/reply.ts';
import { forgetForeignOrigin, removeForeignOrigins } from './cors/registered-origins.ts';
import { registerClientCredentials } from './grants/client-credentials.ts';
import { registerMachineRefresh } from './grants/machine-tokens.ts';
import { registerPassword } from './grants/password.ts';
import { clientEndpointPaths } from './http/provider-routes.ts';
import { platformReply } from './platform/platform-reply.ts';
import {
  createProvider,
  type Provider,
  type ProviderExtensions,
} from './provider/create-provider.ts';
import { completeIntrospection } from './provider/middleware/complete-introspection.ts';
import type { BrowserState } from './provider/policy/cookies.ts';
import type { SecurityProfile } from './provider/policy/grant-types.ts';
import { deviceFlow } from './sign-in/device.ts';
import { logout, skipLogoutQuestion } from './sign-in/logout.ts';
import type { FailedSecrets } from './throttle/failed-secrets.ts';
import type { SignIn } from './throttle/sign-in-throttle.ts';

export interface OpenProviderDependencies {
  readonly issuer: string;
  readonly identity: Identity;
  readonly masterKey: MasterKey;
  readonly cookieKeys: readonly string[];
  readonly securityProfile: SecurityProfile;
  readonly signingKeyPolicy?: SigningKeyPolicy;
  /** Of the signing keys. Epoch milliseconds. */
  readonly now?: () => number;
  readonly browserState: BrowserState;
  readonly signIn: SignIn;
  readonly failedSecrets: FailedSecrets;
}

/** @throws StoreUnavailableError when the signing key cannot be read or created */
export async function openProvider(dependencies: OpenProviderDependencies): Promise<Provider> {
  const { issuer, identity, signingKeyPolicy = defaultSigningKeyPolicy } = dependencies;
  const keptSigningKeys = keepSigningKeys('authorization-server', 'RS256', {
    ...identity,
    now: dependencies.now ?? Date.now,
    policy: signingKeyPolicy,
    onMade: (kid) =>
      identity.audit.record(
        { event: 'signing_key_made', purpose: 'authorization-server', kid },
        thisServer,
      ),
  });
  const signingKeys = await keptSigningKeys.load();
  const secureCookies = issuer.startsWith('https:');
  const provider = createProvider(
    issuer,
    { ...dependencies, keptSigningKeys, signingKeys, secureCookies },
    extensionsOf(dependencies),
  );
  registerGrants(provider, dependencies);
  return provider;
}

function extensionsOf(dependencies: OpenProviderDependencies): ProviderExtensions {
  const { identity, issuer, now = Date.now } = dependencies;
  const xAccessTokens = createXAccessTokens({ ...identity, now });
  return {
    configuration: {
      deviceFlow: deviceFlow(identity),
      rpInitiatedLogout: logout(identity),
      clientBasedCORS: (context, origin, client) =>
        forgetForeignOrigin(context, origin, client.corsOrigins),
    },
    formPostPage,
    replySteps: [
      redirectReply,
      removeForeignOrigins,
      clientEndpointReply(clientEndpointPaths),
      platformReply,
    ],
    endpointSteps: () => [
      explainMistakes,
      completeIntrospection({ identity, xAccessTokens, issuer }),
      skipLogoutQuestion,
    ],
  };
}

function registerGrants(
  provider: Provider,
  { securityProfile, signIn }: OpenProviderDependencies,
): void {
  registerClientCredentials(provider, securityProfile);
  registerMachineRefresh(provider);
  if (securityProfile === 'compatible') {
    registerPassword(provider, signIn);
  }
}
