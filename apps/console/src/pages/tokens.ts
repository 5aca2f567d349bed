/** Look up a token or a request, and revoke the tokens of a client or a user, or everything. */
import { invalidInput } from '@gatehouse/operators';
import { type Html, html } from '@gatehouse/server';
import { z } from 'zod';
import { act, type Screen, screen, type Visit } from '../frame/screen.ts';
import { pathTo, REQUEST_PATH } from '../view/addresses.ts';
import { actForm, destroyLink } from '../view/forms.ts';
import {
  card,
  clientLink,
  copyable,
  definitions,
  lastTime,
  status,
  userLink,
} from '../view/parts.ts';
import { ending, noting, orUndefined } from './acts.ts';
import { CLIENT_PATH, logLinks } from './clients.ts';
import { USER_PATH } from './users.ts';

const PATH = '/tokens';

/** Of a revocation, in the address of its confirmation. A reference is no credential. */
const target = z.union([
  z.strictObject({ reference: z.string() }),
  z.strictObject({ all: z.literal('true').transform(() => true as const) }),
]);

const query = z.object({ reference: z.string().max(4096).optional() });

type Data = Awaited<ReturnType<typeof load>>;

async function load({ operators, query: { reference } }: Visit<z.output<typeof query>>) {
  const token =
    reference === undefined ? undefined : await orUndefined(operators.tokens.find({ reference }));
  const { clientId, userId } = token ?? {};
  const [holder, user] = await Promise.all([
    clientId === undefined ? undefined : orUndefined(operators.clients.read(clientId)),
    userId === undefined ? undefined : orUndefined(operators.users.read(userId)),
  ]);
  return { token, client: holder?.client, user: user?.user };
}

export const tokens: Screen = screen({
  path: PATH,
  query,
  load,
  title: (_data, { texts }) => texts.tokens.title,
  view(data, visit) {
    const { tokens: texts } = visit.texts;
    const isGone = visit.query.reference !== undefined && data.token === undefined;
    return html`<p class="lead">${texts.lead}</p>
${isGone ? html`<p class="warning">${texts.unknown}</p>` : undefined}
${tokenCard(data, visit)}
${card(
  texts.inspect,
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
          return { to: pathTo(REQUEST_PATH, { id: value }) };
        }
        throw invalidInput('value', texts.tokens.unknown);
      },
    }),
    client: act({
      fields: z.object({ client: z.string() }),
      async run({ client: id }, { operators, texts }) {
        if ((await orUndefined(operators.clients.read(id))) === undefined) {
          throw invalidInput('client', texts.tokens.noClient);
        }
        return { to: `${pathTo(CLIENT_PATH, { id })}/revoke` };
      },
    }),
    user: act({
      fields: z.object({ user: z.string() }),
      async run({ user: name }, { operators, texts }) {
        const user = await orUndefined(operators.users.find(name));
        if (user === undefined) {
          throw invalidInput('user', texts.tokens.noUser);
        }
        return { to: `${pathTo(USER_PATH, { id: user.userId })}/end` };
      },
    }),
    revoke: ending({
      fields: target,
      texts: ({ tokens: { acts } }, fields) => ('all' in fields ? acts.all : acts.one),
      async names(fields, { operators }) {
        const effect = await operators.tokens.previewRevocation(fields);
        const { tokens: ended = 0, clients = 0, users: affected = 0, clientIds = [] } = effect;
        const [clientId = ''] = clientIds;
        const holder = await orUndefined(operators.clients.read(clientId));
        return { tokens: ended, clients, users: affected, name: holder?.client.name ?? clientId };
      },
      run: (fields, { operators, operator }) =>
        operators.tokens.revoke(operator, fields).then(noting('revoked')),
    }),
  },
});

/** A client or user that was removed has only its id. */
function tokenCard({ token, client, user }: Data, visit: Visit): Html | undefined {
  if (token === undefined) {
    return undefined;
  }
  const { tokens: texts, common, frame } = visit.texts;
  const { clientId, userId, reference, kind, state, keyId, issuedAt, expiresAt } = token;
  const seconds = (at: number | undefined) => (at ? lastTime(at, visit) : undefined);
  const kinds: Readonly<Record<string, string>> = texts.kinds;
  const tones = { active: 'good', revoked: 'bad', expired: 'quiet' } as const;
  const isKnown = client?.keys.some((key) => key.keyId === keyId) === true;
  return card(
    texts.found,
    html`${definitions([
      [common.state, status(tones[state], texts.states[state])],
      [common.kind, kinds[kind] ?? kind],
      [common.client, client ? clientLink(client.clientId, client.name) : clientId],
      [common.user, user ? userLink(user.userId, user.username) : userId],
      [common.scopes, token.scopes.join(', ') || common.none],
      [common.resource, token.resource ?? common.deviceApi],
      [
        common.key,
        keyId && clientId && isKnown
          ? html`<a href="${pathTo(CLIENT_PATH, { id: clientId })}?tab=keys">${keyId}</a>`
          : keyId,
      ],
      [texts.issued, seconds(issuedAt)],
      [common.expires, seconds(expiresAt)],
      [texts.tokenId, copyable(token.tokenId, frame)],
    ])}
<p class="actions">${state === 'active' ? destroyLink(visit, { act: 'revoke', label: texts.acts.one.button, fields: { reference } }) : undefined}
${clientId === undefined ? undefined : logLinks({ clientId }, visit.texts)}</p>`,
  );
}

/** Everything of a client, of a user, or of the installation. */
function revocations(visit: Visit): Html {
  const { tokens: texts, common, signIn } = visit.texts;
  const form = (name: 'client' | 'user', label: string) =>
    actForm(visit, {
      act: name,
      fields: [{ name, label, required: true }],
      button: signIn.continue,
      isPrimary: false,
    });
  return card(
    texts.revokeTitle,
    html`<p class="hint">${common.effectFirst}</p>
<div class="two">
<section class="act"><h3>${texts.ofClient}</h3>${form('client', common.clientId)}</section>
<section class="act"><h3>${texts.ofUser}</h3>${form('user', texts.userField)}</section>
<section class="act"><h3>${texts.acts.all.button}</h3><p class="hint">${texts.everythingLead}</p><p class="actions">${destroyLink(visit, { act: 'revoke', label: texts.acts.all.button, fields: { all: 'true' } })}</p></section>
</div>`,
  );
}
