/** Adds a client: which kind of program first, then its form, then its secure key with a command. */
import { deviceScopes } from '@gatehouse/device-api';
import { knownScopes } from '@gatehouse/identity';
import type { NewClient } from '@gatehouse/operators';
import { fill, type Html, html, plainName } from '@gatehouse/server';
import { z } from 'zod';
import { act, type Outcome, type Screen, screen, type Visit } from '../frame/screen.ts';
import { pathTo } from '../view/addresses.ts';
import { actForm, type Field } from '../view/forms.ts';
import { card, commandBlock, copyable } from '../view/parts.ts';
import type { Texts } from '../view/texts-en.ts';
import { CLIENT_PATH, LIST_PATH, NEW_CLIENT_PATH } from './clients.ts';

type Kind = keyof Texts['wizard']['kinds'];

const code = ['authorization_code', 'refresh_token'] as const;
const deviceCode = 'urn:ietf:params:oauth:grant-type:device_code';

/** What a client of each kind registers. */
const kinds: Readonly<Record<Kind, Partial<NewClient>>> = {
  web: { grantTypes: [...code] },
  spa: { grantTypes: [...code], public: true },
  native: { grantTypes: [...code, deviceCode], public: true, applicationType: 'native' },
  machine: { grantTypes: ['client_credentials'] },
  signing: { grantTypes: [], signatureAlgorithm: 'HMAC-SHA-256' },
};

/** Native applications can use the device code alone, without a redirect URI. */
const redirectsOf = (kind: Kind) =>
  kinds[kind].grantTypes?.includes('authorization_code')
    ? kind === 'native'
      ? 'optional'
      : 'required'
    : 'no';

const kindName = z.enum(Object.keys(kinds) as Kind[]);
/** As many as fit into a list to choose from. Otherwise, the operator types an id. */
const LISTED_ORGANIZATIONS = 50;

export const newClientScreen: Screen = screen({
  path: NEW_CLIENT_PATH,
  needsWrite: true,
  query: z.object({ kind: kindName.optional() }),
  async load({ operators, query, attempt }) {
    const kind = kindName.safeParse(attempt?.values.kind).data ?? query.kind;
    const [organizations, { settings }] = await Promise.all([
      operators.organizations.list({ limit: LISTED_ORGANIZATIONS }),
      operators.settings.read(),
    ]);
    const scopes = settings.resources.flatMap((resource) => Object.keys(resource.scopes));
    return { kind, organizations, scopes };
  },
  title: (_data, { texts }) => texts.wizard.title,
  trail: (_data, { texts }) => [{ address: LIST_PATH, label: texts.clients.title }],
  view({ kind, organizations, scopes }, visit) {
    const { wizard: texts, common } = visit.texts;
    if (kind === undefined) {
      return html`<p class="lead">${texts.lead}</p>
<ul class="choices">${kindName.options.map((name) => {
        const { title, about, grants } = texts.kinds[name];
        return html`<li><a href="${NEW_CLIENT_PATH}?kind=${name}"><strong>${title}</strong>${about}<small>${grants}</small></a></li>`;
      })}</ul>`;
    }
    const redirects = redirectsOf(kind);
    const usual = redirects === 'no' ? 'device:read' : 'openid profile';
    // A client without users gets no scope of OpenID Connect.
    const builtIn: readonly string[] = redirects === 'no' ? deviceScopes : knownScopes;
    const known = organizations.items.map(({ id, name }) => ({
      value: id,
      label: `${plainName(name)} (${id})`,
    }));
    const isShort = organizations.next === undefined;
    const fields: readonly Field[] = [
      { name: 'name', label: common.name, hint: texts.nameHint, required: true },
      { name: 'clientId', label: common.clientId, hint: texts.idHint, required: true },
      {
        ...{ name: 'orgId', label: common.organization, required: true },
        ...(isShort && { options: known }),
      },
      ...(redirects === 'no'
        ? []
        : [
            {
              ...{ name: 'redirectUris', label: common.redirects, rows: 3 },
              hint: redirects === 'optional' ? texts.nativeHint : texts.redirectsHint,
              required: redirects === 'required',
            },
          ]),
      {
        ...{ name: 'scopes', label: common.scopes, value: usual },
        hint: fill(texts.scopesHint, { scopes: [...builtIn, ...scopes].join(' ') }),
      },
    ];
    const form = actForm(visit, { act: 'create', fields, hidden: { kind }, button: texts.create });
    return card(
      texts.kinds[kind].title,
      html`<p class="hint">${texts.kinds[kind].about}</p>
<p class="hint">${texts.kinds[kind].grants}</p>${form}`,
      html`<a class="button" href="${NEW_CLIENT_PATH}">${texts.change}</a>`,
    );
  },
  acts: {
    create: act({
      fields: z.object({
        kind: kindName,
        name: z.string(),
        clientId: z.string(),
        orgId: z.string(),
        redirectUris: z.string().default(''),
        scopes: z.string(),
      }),
      async run({ kind, redirectUris, scopes, ...named }, visit) {
        const uris = wordsOf(redirectUris);
        const { grantTypes = [] } = kinds[kind];
        const hasRedirects = redirectsOf(kind) === 'required' || uris.length > 0;
        const definition: NewClient = {
          ...{ ...kinds[kind], ...named },
          scopes: wordsOf(scopes),
          redirectUris: uris,
          grantTypes: grantTypes.filter((type) => hasRedirects || type !== 'authorization_code'),
          corsOrigins: kind === 'spa' ? originsOf(uris) : [],
        };
        const { secureKey } = await visit.operators.clients.create(visit.operator, definition);
        return created({ kind, definition, secureKey }, visit);
      },
    }),
  },
});

/** Texts of a field with several values. */
export const wordsOf = (text: string): string[] => text.split(/\s+/).filter(Boolean);

const originsOf = (uris: readonly string[]): string[] => [
  ...new Set(uris.flatMap((uri) => URL.parse(uri)?.origin ?? [])),
];

interface Created {
  readonly kind: Kind;
  readonly definition: NewClient;
  readonly secureKey: string | undefined;
}

function created({ kind, definition, secureKey }: Created, { texts, issuer }: Visit): Outcome {
  const { clientId: id, name, redirectUris = [] } = definition;
  const address = pathTo(CLIENT_PATH, { id });
  const trial = commandOf({ kind, definition, secureKey }, { texts, issuer });
  const title = fill(texts.wizard.createdTitle, { name: plainName(name) });
  const more =
    redirectUris.length > 0
      ? html`<a class="button" href="${address}?tab=redirects">${texts.common.redirects}</a>`
      : undefined;
  return { title, content: secretPage({ secureKey, trial, address }, texts, more) };
}

interface Secret {
  readonly secureKey: string | undefined;
  readonly trial?: readonly [command: string, result: string] | undefined;
  /** Of the client. */
  readonly address: string;
}

/** A page with a secure key, which exists once, and a command that uses it. */
export function secretPage({ secureKey, trial, address }: Secret, texts: Texts, more?: Html): Html {
  const { wizard, clients, frame } = texts;
  const [command = '', result] = trial ?? [];
  return html`${secureKey && card(clients.authentications.key, html`<p class="warning">${wizard.once}</p><p>${copyable(secureKey, frame)}</p>`)}
${trial && card(wizard.tryIt, html`${commandBlock(command, texts)}<p class="hint">${result}</p>`)}
<p class="actions"><a class="button primary" href="${address}">${wizard.open}</a>${more}</p>`;
}

/** A word of a POSIX shell. */
const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** RFC 6749 §2.3.1: both are encoded as in a form. Keys need no encoding. */
const basic = (clientId: string, secureKey: string): string =>
  `-u ${quoted(`${encodeURIComponent(clientId)}:${secureKey}`)}`;

/** Gets a token with a secure key. */
export const tokenCommand = (
  client: { readonly clientId: string; readonly secureKey: string },
  issuer: string,
): string =>
  `curl -s ${basic(client.clientId, client.secureKey)} ${issuer}/token \\\n  -d grant_type=client_credentials`;

/** @returns the command, and what it shows */
function commandOf(
  { kind, definition, secureKey = '' }: Created,
  { texts: { wizard }, issuer }: Pick<Visit, 'texts' | 'issuer'>,
): readonly [command: string, result: string] {
  const { clientId, redirectUris = [], scopes = [] } = definition;
  const scope =
    scopes.length === 0 ? '' : ` \\\n  --data-urlencode ${quoted(`scope=${scopes.join(' ')}`)}`;
  if (kind === 'machine') {
    return [`${tokenCommand({ clientId, secureKey }, issuer)}${scope}`, wizard.tryMachine];
  }
  if (kind === 'signing') {
    return [
      `npx gatehouse sign GET "$API/api/device?pageSize=5" --client ${quoted(clientId)}`,
      wizard.trySigning,
    ];
  }
  const secret = secureKey === '' ? '' : ` ${basic(clientId, secureKey)}`;
  const who = `${secret} \\\n  --data-urlencode ${quoted(`client_id=${clientId}`)}`;
  const [redirectUri] = redirectUris;
  return redirectUri === undefined
    ? [`curl -s ${issuer}/device/auth${who}${scope}`, wizard.tryDevice]
    : [
        `curl -s ${issuer}/par${who} \\\n  -d response_type=code \\\n  --data-urlencode ${quoted(`redirect_uri=${redirectUri}`)}${scope} \\\n  -d code_challenge_method=S256 -d code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM`,
        wizard.tryWeb,
      ];
}
