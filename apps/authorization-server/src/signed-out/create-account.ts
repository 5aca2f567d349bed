/**
 * The page behind the link of a registration or an invitation. The person who opens it has the
 * mailbox, and chooses the name and the password here. A password that was entered before could be
 * that of an attacker who registered the address of another person.
 */
import {
  type ActionLink,
  hashPassword,
  type Identity,
  isDomainAllowed,
  newAccountSchema,
  RejectedChangeError,
} from '@gatehouse/identity';
import type { Request, RequestHandler, Router } from 'express';
import {
  newPasswordFields,
  newPasswordProblem,
  type PasswordProblem,
} from '../account/choose-password.ts';
import { formProblems, noteFailure } from '../pages/error-page.ts';
import { foreignName, html, sentence } from '../pages/html.ts';
import { formField, type Page, problemNotice, sendPage, textsFor } from '../pages/page.ts';
import { passwordScripts } from '../pages/password-field.ts';
import type { Texts } from '../pages/texts-en.ts';
import { recordEvent } from '../requests/caller.ts';
import { CREATE_ACCOUNT_PATH } from '../requests/routes.ts';
import { createLinkPage, type LinkExchange, linkForm } from './link-page.ts';

type Problem = keyof Texts['accountProblems'];
type AccountLink = ActionLink<'register' | 'invite'>;

interface Entered {
  readonly username: string;
  readonly name: string;
}

interface Problems {
  readonly problem?: Problem | undefined;
  readonly passwordProblem?: PasswordProblem | undefined;
}

type Exchange = LinkExchange<AccountLink>;

export function createAccountCreationRoutes({
  identity,
  limit,
}: {
  readonly identity: Identity;
  /** Limits the attempts with one link, so that nobody tests many usernames. */
  readonly limit: RequestHandler;
}): Router {
  const { actionLinks } = identity;

  async function show(exchange: Exchange, entered: Entered, problems: Problems): Promise<void> {
    const { request, response, found } = exchange;
    if (problems.problem !== undefined || problems.passwordProblem !== undefined) {
      noteFailure(request, 'accountRefused', formProblems.accountRefused);
      response.status(422);
    }
    const { name = found.orgId } = (await identity.organizations.find(found.orgId)) ?? {};
    sendPage(response, page(textsFor(request), exchange, { ...entered, ...problems }, name));
  }

  return createLinkPage<AccountLink>({
    path: CREATE_ACCOUNT_PATH,
    limits: [limit],
    async find(token) {
      const link =
        (await actionLinks.find('invite', token)) ?? (await actionLinks.find('register', token));
      return link && (await isUsable(link, identity)) ? link : undefined;
    },
    show: (exchange) => show(exchange, { username: '', name: '' }, {}),
    async submit(exchange) {
      const { request, found } = exchange;
      const entered = {
        username: formField(request, 'username'),
        name: formField(request, 'name'),
      };
      const problems = await problemsOf(request, entered, identity);
      if (problems !== undefined) {
        await show(exchange, entered, problems);
        return undefined;
      }
      const result = await create(exchange, entered, identity);
      if (result === 'taken') {
        const token = await actionLinks.issueAccount(found);
        await show({ ...exchange, token }, entered, { problem: 'taken' });
        return undefined;
      }
      return result;
    },
    done: { title: 'accountCreatedTitle', text: 'accountCreated' },
  });
}

/**
 * Uses the link up.
 *
 * @returns `taken` if another person took the username in the meantime
 */
async function create(
  { request, token, found: link }: Exchange,
  entered: Entered,
  identity: Identity,
): Promise<'done' | 'taken' | 'invalid'> {
  const { actionLinks, users } = identity;
  const passwordHash = await hashPassword(formField(request, 'wanted'));
  if ((await actionLinks.take(link.kind, token)) === undefined) {
    return 'invalid';
  }
  const { orgId, email } = link;
  const locale = textsFor(request).language;
  const member = { orgId, email, emailVerified: true, roles: [], passwordHash, locale };
  try {
    const { userId } = await users.add({ ...entered, ...member });
    recordEvent(request, { event: 'user_changed', userId, change: 'added' }, identity);
    return 'done';
  } catch (error) {
    if (!(error instanceof RejectedChangeError)) {
      throw error;
    }
    return (await isUsable(link, identity)) ? 'taken' : 'invalid';
  }
}

/** Operators invite to closed organizations as well. */
async function isUsable(
  { kind, orgId, email }: AccountLink,
  { settings, organizations, users }: Identity,
): Promise<boolean> {
  const open = (await settings.read()).registrationOf(orgId);
  const isAllowed = kind === 'invite' || (open !== undefined && isDomainAllowed(open, email));
  const exists = (await organizations.find(orgId)) !== undefined;
  return isAllowed && exists && (await users.findByEmail(email)) === undefined;
}

async function problemsOf(
  request: Request,
  entered: Entered,
  { users }: Identity,
): Promise<Problems | undefined> {
  const [issue] = newAccountSchema.safeParse(entered).error?.issues ?? [];
  if (issue !== undefined) {
    return { problem: issue.path[0] === 'name' ? 'name' : 'username' };
  }
  if ((await users.findByUsername(entered.username)) !== undefined) {
    return { problem: 'taken' };
  }
  const passwordProblem = await newPasswordProblem(request, entered);
  return passwordProblem && { passwordProblem };
}

function page(
  texts: Texts,
  { token, found: link }: Exchange,
  { username, name, problem, passwordProblem }: Entered & Problems,
  organization: string,
): Page {
  const lead = sentence(texts.createAccountLead, {
    email: html`<strong>${link.email}</strong>`,
    organization: foreignName(organization),
  });
  const notice = passwordProblem && texts.passwordProblems[passwordProblem];
  const isWrong = (...problems: readonly Problem[]) =>
    problem !== undefined && problems.includes(problem)
      ? html` aria-invalid="true" aria-describedby="problem"`
      : undefined;
  const focus = html` autofocus`;
  const fields = html`<label for="name">${texts.accountName}</label>
<input id="name" name="name" type="text" autocomplete="name" required maxlength="200" value="${name}"${isWrong('name')}${username === '' ? focus : undefined}>
<label for="username">${texts.username}</label>
<input id="username" name="username" type="text" autocomplete="username" autocapitalize="none" autocorrect="off" spellcheck="false" required maxlength="128" value="${username}"${isWrong('username', 'taken')}${username === '' ? undefined : focus}>
${newPasswordFields(texts, { problem: passwordProblem })}
<button class="primary" type="submit">${texts.createAccountButton}</button>`;
  const content = html`<p class="lead">${lead}</p>
${problemNotice(problem ? texts.accountProblems[problem] : notice)}
${linkForm(CREATE_ACCOUNT_PATH, token, fields)}`;
  return { texts, title: texts.createAccountTitle, content, scripts: passwordScripts };
}
