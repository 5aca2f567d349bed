import { element, find, InputProblem, show } from './elements.ts';
import { type SignedIn, startSignIn } from './sign-in.ts';

/** The document `/explorer/settings.json`. */
export interface PageSettings {
  /** The public URL of the gateway. */
  readonly gatewayUrl: string;
  readonly authorizationServerUrl: string;
  readonly redirectUri: string;
  /** The client that signs users in. */
  readonly clientId: string;
  /** Whether this client exists with the redirect URI of the page. */
  readonly isRegistered: boolean;
  /** Error code → how to fix the request. */
  readonly advice: Readonly<Record<string, string>>;
}

/** How the request authenticates. The page keeps it in memory only. */
export type Credential =
  | { readonly kind: 'access-token' | 'x-access-token'; readonly token: string }
  | {
      readonly kind: 'secure-key';
      readonly version: 1 | 2;
      readonly clientId: string;
      readonly secureKey: string;
    };

const kinds = ['sign-in', 'secure-key', 'access-token', 'x-access-token'] as const;

const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];

/** The ways to authenticate. Every value stays in its field, and nothing stores it. */
export function createCredentialForm(
  settings: PageSettings,
  onSignIn: () => void,
  onChange: () => void,
  onProblem: (error: unknown) => void,
) {
  let signedIn: SignedIn | undefined;
  const clientId = find('sign-in-client', HTMLInputElement);
  clientId.value = settings.clientId;
  show('registration', ...registrationOf(settings));
  if (loopbackNames.includes(window.location.hostname)) {
    show('sign-in-demo', ...demoHint());
    show('secure-key-demo', ...demoHint());
  }
  for (const kind of kinds) {
    find(`with-${kind}`, HTMLInputElement).addEventListener('change', () => {
      showPanel();
      onChange();
    });
  }
  find('sign-in', HTMLButtonElement).addEventListener('click', () => {
    onSignIn();
    void startSignIn(settings, clientId.value.trim()).catch(onProblem);
  });
  showPanel();

  function showPanel(): void {
    for (const kind of kinds) {
      find(`panel-${kind}`, HTMLElement).hidden = kind !== chosenKind();
    }
    find('sign-only', HTMLButtonElement).hidden = chosenKind() !== 'secure-key';
  }

  return {
    /** @throws InputProblem */
    read(): Credential {
      switch (chosenKind()) {
        case 'secure-key':
          return {
            kind: 'secure-key',
            version: find('version-1', HTMLInputElement).checked ? 1 : 2,
            clientId: required('client-id', 'Enter the client id.'),
            secureKey: required('secure-key', 'Enter the secure key.'),
          };
        case 'access-token':
          return {
            kind: 'access-token',
            token: required('access-token', 'Paste an access token.'),
          };
        case 'x-access-token':
          return { kind: 'x-access-token', token: required('token', 'Paste an X-Access-Token.') };
        default:
          if (signedIn === undefined || signedIn.expiresAt <= Date.now()) {
            throw new InputProblem('sign-in', 'Sign in first.');
          }
          return { kind: 'access-token', token: signedIn.token };
      }
    },
    showSignedIn(given: SignedIn): void {
      signedIn = given;
      const end = new Date(given.expiresAt).toLocaleTimeString();
      show('sign-in-state', `You are signed in until ${end}. Scopes: ${given.scope}.`);
    },
  };
}

function demoHint(): readonly (Node | string)[] {
  return [element('code', {}, 'npm start -- --show'), ' prints the demo credentials.'];
}

function chosenKind(): (typeof kinds)[number] {
  return kinds.find((kind) => find(`with-${kind}`, HTMLInputElement).checked) ?? 'sign-in';
}

/** A header can contain only printable ASCII without surrounding spaces. */
function required(field: string, message: string): string {
  const { value } = find(field, HTMLInputElement);
  if (value === '') {
    throw new InputProblem(field, message);
  }
  if (field !== 'secure-key' && !/^[\x21-\x7e]+$/.test(value)) {
    throw new InputProblem(field, 'Use printable ASCII characters without spaces.');
  }
  return value;
}

/** How an operator registers the client, unless that has happened. */
function registrationOf(settings: PageSettings): readonly (Node | string)[] {
  const { isRegistered, redirectUri, clientId } = settings;
  const { origin } = new URL(redirectUri);
  if (origin !== window.location.origin) {
    return [
      'To sign in, open the explorer at ',
      element('a', { href: redirectUri }, redirectUri),
      '. The authorization server returns only to this address.',
    ];
  }
  const command = `gatehouse clients add ${clientId} --name 'API explorer' --org ORGANIZATION --public --grant-type authorization_code --redirect-uri ${redirectUri} --cors-origin ${origin} --scope device:read`;
  return isRegistered
    ? []
    : [
        'No client can sign in here yet. Ask the operator to register a public client with the redirect URI ',
        element('code', {}, redirectUri),
        ':',
        element('pre', {}, command),
      ];
}
