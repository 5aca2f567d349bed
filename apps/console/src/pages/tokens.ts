/** Tokens: what a token is, who holds it, and what its revocation would end. */
import {
  type ClientView,
  type ExplainedRequest,
  OperatorError,
  type RevocationTarget,
  type TokenView,
  type UserView,
} from '@gatehouse/operators';
import { fill, foreignName, type Html, html, plainName, sentence } from '@gatehouse/server';
import { z } from 'zod';
import { act, type Screen, screen, type Visit } from '../frame/screen.ts';
import { pathTo } from '../view/addresses.ts';
import { actForm, destroyLink } from '../view/forms.ts';
import { card, copyable, counted, definitions, status, time } from '../view/parts.ts';
import { CLIENT_PATH, clientLink, logLinks } from './clients.ts';

const PATH = '/tokens';

/** Of a revocation, in the address of its confirmation. A reference is no credential. */
const target = z.union([
  z.strictObject({ reference: z.string() }),
  z.strictObject({ clientId: z.string() }),
  z.strictObject({ userId: z.string() }),
  z.strictObject({ all: z.literal('true').transform(() => true as const) }),
]);

export const tokens: Screen = screen({
  path: PATH,
  requires: 'operator:read',
  query: z.object({
    reference: z.string().max(4096).optional(),
    request: z.string().max(64).optional(),
  }),
  async load({ operators, query: { reference, request } }) {
    const token =
      reference === undefined ? undefined : await orUndefined(operators.tokens.find({ reference }));
    const found =
      request === undefined ? undefined : await orUndefined(operators.requests.read(request));
    const [clientId, userId] = [token?.clientId ?? found?.requests.at(-1)?.clientId, token?.userId];
    const [holder, user] = await Promise.all([
      clientId === undefined ? undefined : orUndefined(operators.clients.read(clientId)),
      userId === undefined ? undefined : orUndefined(operators.users.read(userId)),
    ]);
    return { token, request: found?.requests.at(-1), client: holder?.client, user: user?.user };
  },
  title: (_data, { texts }) => texts.tokens.title,
  view(data, visit) {
    const { tokens: texts } = visit.texts;
    const isGone = visit.query.reference !== undefined && data.token === undefined;
    return html`<p class="lead">${texts.lead}</p>
${isGone ? html`<p class="warning">${texts.unknown}</p>` : undefined}
${data.token && tokenCard({ ...data, token: data.token }, visit)}
${data.request && requestCard({ ...data, request: data.request }, visit)}
${card(
  texts.inspectTitle,
  actForm(
    { ...visit, mayWrite: true },
    {
      act: 'inspect',
      fields: [
        {
          ...{ name: 'value', label: texts.field, hint: texts.fieldHint },
          ...{ required: true, isSecret: true },
        },
      ],
      button: texts.inspect,
    },
  ),
)}
${visit.mayWrite ? revocations(visit) : undefined}`;
  },
  acts: {
    inspect: act({
      fields: z.object({ value: z.string().trim().min(1).max(16_384) }),
      async run({ value }, { operators, texts }) {
        const token = await orUndefined(operators.tokens.find(value));
        if (token !== undefined) {
          return { to: `${PATH}?${new URLSearchParams({ reference: token.reference })}` };
        }
        const isRequest = /^[A-Za-z0-9._-]{8,64}$/.test(value);
        if (isRequest && (await orUndefined(operators.requests.read(value))) !== undefined) {
          return { to: `${PATH}?${new URLSearchParams({ request: value })}` };
        }
        throw problem('value', texts.tokens.unknown);
      },
    }),
    client: act({
      fields: z.object({ client: z.string() }),
      async run({ client: clientId }, { operators, texts }) {
        if ((await orUndefined(operators.clients.read(clientId))) === undefined) {
          throw problem('client', texts.tokens.noClient);
        }
        return { to: confirmationOf({ clientId }) };
      },
    }),
    user: act({
      fields: z.object({ user: z.string() }),
      async run({ user: name }, { operators, texts }) {
        const user = await orUndefined(operators.users.find(name));
        if (user === undefined) {
          throw problem('user', texts.tokens.noUser);
        }
        return { to: confirmationOf({ userId: user.userId }) };
      },
    }),
    revoke: act({
      fields: target,
      preview: (fields, visit) => previewOf(fields, visit),
      confirm: ({ effect, kind, name = '' }, { texts }) => {
        const { clients, tokens: words } = texts;
        const [title, sentenceOf] = {
          one: [words.confirmOne, words.effectOne],
          client: [clients.revokeTitle, clients.revokeEffect],
          user: [words.confirmUser, words.effectUser],
          all: [words.confirmAll, words.effectAll],
        }[kind] as [string, string];
        const amount = (count: number, forms: { one: string; other: string }) =>
          html`<strong>${counted(count, texts, forms)}</strong>`;
        return {
          title: fill(title, { name: plainName(name) }),
          effect: html`<p>${sentence(sentenceOf, {
            client: foreignName(name),
            tokens: amount(effect.tokens ?? 0, clients.tokenCount),
            clients: amount(effect.clients ?? effect.clientIds?.length ?? 0, clients.clientCount),
            sessions: amount(effect.sessions ?? 0, texts.tokens.sessions),
            users: amount(effect.users ?? 0, texts.tokens.users),
          })}</p>`,
          button: kind === 'all' ? texts.tokens.everything : texts.tokens.revokeTitle,
        };
      },
      async run(fields, { operators, operator }) {
        await operators.tokens.revoke(operator, fields);
        return { to: PATH, notice: 'revoked' };
      },
    }),
  },
});

const confirmationOf = (fields: Readonly<Record<string, string>>): string =>
  `${PATH}/revoke?${new URLSearchParams(fields)}`;

/** What ends, and the name of whom it belongs to. */
async function previewOf(chosen: RevocationTarget, { operators }: Visit) {
  const effect = await operators.tokens.previewRevocation(chosen);
  if ('userId' in chosen) {
    const { user } = await operators.users.read(chosen.userId);
    return { effect, kind: 'user', name: user.username } as const;
  }
  if ('all' in chosen) {
    return { effect, kind: 'all', name: undefined } as const;
  }
  const [clientId = ''] = effect.clientIds ?? [];
  const name = (await orUndefined(operators.clients.read(clientId)))?.client.name ?? clientId;
  return { effect, kind: 'clientId' in chosen ? 'client' : 'one', name } as const;
}

type Held = Partial<{
  readonly client: ClientView | undefined;
  readonly user: UserView | undefined;
}>;

/** The client and the user, with links. A client or user that was removed has only its id. */
function holders(
  { client, user }: Held,
  ids: { readonly clientId?: string | undefined; readonly userId?: string | undefined },
  { texts }: Visit,
) {
  const { clientId, userId } = ids;
  const known =
    user &&
    html`<a href="${pathTo('/users/:id', { id: user.userId })}">${foreignName(user.username)}</a>`;
  return [
    [texts.tokens.client, client ? clientLink(client.clientId, client.name) : clientId],
    [texts.tokens.user, known ?? userId],
  ] as const;
}

function tokenCard({ token, ...held }: Held & { readonly token: TokenView }, visit: Visit): Html {
  const { tokens: texts, clients, frame } = visit.texts;
  const { clientId, userId, reference, kind, state, keyId } = token;
  const seconds = (at: number | undefined) => (at ? time(at * 1000, visit) : undefined);
  const kinds: Readonly<Record<string, string>> = texts.kinds;
  const tones = { active: 'good', revoked: 'bad', expired: 'quiet' } as const;
  const isKnown = held.client?.keys.some((key) => key.keyId === keyId) === true;
  return card(
    texts.found,
    html`${definitions([
      [texts.state, status(tones[state], texts.states[state])],
      [texts.kind, kinds[kind] ?? kind],
      ...holders(held, { clientId, userId }, visit),
      [texts.scopes, token.scopes.join(', ') || clients.none],
      [texts.resource, token.resource ?? clients.deviceApi],
      [
        texts.key,
        keyId && clientId && isKnown
          ? html`<a href="${pathTo(CLIENT_PATH, { id: clientId })}?tab=keys">${keyId}</a>`
          : keyId,
      ],
      [texts.issued, seconds(token.issuedAt)],
      [texts.expires, seconds(token.expiresAt)],
      [texts.tokenId, copyable(token.tokenId, frame)],
    ])}
<p class="actions">${state === 'active' ? destroyLink(visit, { act: 'revoke', label: texts.revokeOne, fields: { reference } }) : undefined}
${clientId === undefined ? undefined : logLinks({ clientId }, visit.texts)}</p>`,
  );
}

function requestCard(
  { request, ...held }: Held & { readonly request: ExplainedRequest },
  visit: Visit,
): Html {
  const { tokens: texts, frame } = visit.texts;
  const { clientId, code, explanation } = request;
  const ofClient =
    clientId === undefined || held.client === undefined
      ? undefined
      : destroyLink(visit, { act: 'revoke', label: texts.ofClient, fields: { clientId } });
  return card(
    texts.foundRequest,
    html`<p class="hint">${texts.requestHint}</p>${definitions([
      [texts.requestId, copyable(request.requestId, frame)],
      [texts.at, time(request.time, visit)],
      [texts.outcome, code === undefined ? status('good', texts.success) : status('bad', code)],
      [texts.operation, request.operation],
      ...holders(held, { clientId }, visit).slice(0, 1),
      [texts.credential, request.credential],
      [texts.key, request.keyId],
      [visit.texts.tokens.cause, explanation?.cause],
    ])}
<p class="actions"><a class="button" href="${pathTo('/requests/:id', { id: request.requestId })}">${texts.showRequest}</a>${ofClient}</p>`,
  );
}

/** Everything of a client, of a user, or of the installation. */
function revocations(visit: Visit): Html {
  const { tokens: texts } = visit.texts;
  const form = (name: 'client' | 'user', label: string) =>
    actForm(visit, {
      act: name,
      fields: [{ name, label, required: true }],
      button: texts.next,
      isPrimary: false,
    });
  return card(
    texts.revokeTitle,
    html`<p class="hint">${texts.revokeLead}</p>
<div class="two">
<section><h3>${texts.ofClient}</h3>${form('client', texts.clientField)}</section>
<section><h3>${texts.ofUser}</h3>${form('user', texts.userField)}</section>
<section><h3>${texts.everything}</h3><p class="hint">${texts.everythingLead}</p><p class="actions">${destroyLink(visit, { act: 'revoke', label: texts.everything, fields: { all: 'true' } })}</p></section>
</div>`,
  );
}

/** An object that does not exist is no error here. */
async function orUndefined<Found>(reading: Promise<Found>): Promise<Found | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof OperatorError && error.code === 'not_found') {
      return undefined;
    }
    throw error;
  }
}

const problem = (property: string, message: string) =>
  new OperatorError('illegal_argument', message, [{ property, message }]);
