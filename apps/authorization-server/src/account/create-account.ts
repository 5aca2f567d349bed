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
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { formProblems, noteFailure, rejectMethods, sendErrorPage } from '../pages/error-page.ts';
import { foreignName, html, sentence } from '../pages/html.ts';
import {
  formField,
  linkButton,
  type Page,
  parseForm,
  problemNotice,
  sendPage,
  textsFor,
} from '../pages/page.ts';
import { passwordScripts } from '../pages/password-field.ts';
import type { Texts } from '../pages/texts-en.ts';
import { requestOrigin } from '../requests/caller.ts';
import { contextOf } from '../requests/request-context.ts';
import { newPasswordFields, newPasswordProblem, type PasswordProblem } from './choose-password.ts';

export const CREATE_ACCOUNT_PATH = '/create-account';

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

interface View extends Entered, Problems {
  readonly link: AccountLink;
  readonly token: string;
}

export function createAccountCreationRoutes({
  identity,
  limit,
}: {
  readonly identity: Identity;
  /** Limits the attempts with one link, so that nobody tests many usernames. */
  readonly limit: RequestHandler;
}): Router {
  const { actionLinks } = identity;
  const router = Router({ caseSensitive: true, strict: true });

  /** A link that can create an account now. Without one, replies with an error. */
  async function linkOf(request: Request, response: Response, token: string) {
    const link =
      (await actionLinks.find('invite', token)) ?? (await actionLinks.find('register', token));
    if (link !== undefined && (await isUsable(link, identity))) {
      return link;
    }
    sendErrorPage(request, response, 400, 'linkInvalid');
    return undefined;
  }

  async function show(request: Request, response: Response, view: View): Promise<void> {
    if (view.problem !== undefined || view.passwordProblem !== undefined) {
      noteFailure(request, 'accountRefused', formProblems.accountRefused);
      response.status(422);
    }
    const { orgId } = view.link;
    const organization = await identity.organizations.find(orgId);
    contextOf(request).orgId = orgId;
    sendPage(response, page(textsFor(request), view, organization?.name ?? orgId));
  }

  router.get('/', async (request, response) => {
    const token = String(request.query.token ?? '');
    const link = await linkOf(request, response, token);
    if (link !== undefined) {
      await show(request, response, { link, token, username: '', name: '' });
    }
  });

  router.post('/', parseForm, limit, async (request, response) => {
    const token = formField(request, 'token');
    const link = await linkOf(request, response, token);
    if (link === undefined) {
      return;
    }
    const entered = { username: formField(request, 'username'), name: formField(request, 'name') };
    const problems = await problemsOf(request, entered, identity);
    if (problems !== undefined) {
      await show(request, response, { link, token, ...entered, ...problems });
    } else {
      const result = await create(request, { ...entered, link, token }, identity);
      if (result === 'created') {
        response.redirect(303, `${CREATE_ACCOUNT_PATH}/done`);
      } else if (result === 'taken') {
        const again = await actionLinks.issueAccount(link);
        const view = { link, token: again, ...entered, problem: 'taken' } as const;
        await show(request, response, view);
      } else {
        sendErrorPage(request, response, 400, 'linkInvalid');
      }
    }
  });

  router.get('/done', (request, response) => {
    const texts = textsFor(request);
    const content = html`<p>${texts.accountCreated}</p>
${linkButton('/account', texts.openAccount)}`;
    sendPage(response, { texts, title: texts.accountCreatedTitle, content });
  });

  router.use(rejectMethods(router));
  return router;
}

/**
 * Uses the link up.
 *
 * @returns `taken` if another person took the username in the meantime
 */
async function create(
  request: Request,
  { link, token, ...entered }: Omit<View, keyof Problems>,
  identity: Identity,
): Promise<'created' | 'taken' | 'invalid'> {
  const { actionLinks, users, audit } = identity;
  const passwordHash = await hashPassword(formField(request, 'wanted'));
  if ((await actionLinks.take(link.kind, token)) === undefined) {
    return 'invalid';
  }
  const { orgId, email } = link;
  const locale = textsFor(request).language;
  const member = { orgId, email, emailVerified: true, roles: [], passwordHash, locale };
  try {
    const { userId } = await users.add({ ...entered, ...member });
    const event = { event: 'user_changed', userId, change: 'added' } as const;
    audit.record(event, requestOrigin(request));
    return 'created';
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

function page(texts: Texts, view: View, organization: string): Page {
  const { link, token, username, name, problem, passwordProblem } = view;
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
  const content = html`<p class="lead">${lead}</p>
${problemNotice(problem ? texts.accountProblems[problem] : notice)}
<form method="post" action="${CREATE_ACCOUNT_PATH}">
<input type="hidden" name="token" value="${token}">
<label for="name">${texts.accountName}</label>
<input id="name" name="name" type="text" autocomplete="name" required maxlength="200" value="${name}"${isWrong('name')}${username === '' ? focus : undefined}>
<label for="username">${texts.username}</label>
<input id="username" name="username" type="text" autocomplete="username" autocapitalize="none" autocorrect="off" spellcheck="false" required maxlength="128" value="${username}"${isWrong('username', 'taken')}${username === '' ? undefined : focus}>
${newPasswordFields(texts, { problem: passwordProblem })}
<button class="primary" type="submit">${texts.createAccountButton}</button>
</form>`;
  return { texts, title: texts.createAccountTitle, content, scripts: passwordScripts };
}
