/**
 * The page behind a link that lets its holder choose a password. Opening it changes nothing, because
 * mail programs open links. The form uses the link up. The address has the only copy of the token.
 */
import type { User } from '@gatehouse/identity';
import { type Request, type Response, Router } from 'express';
import { rejectMethods, sendErrorPage } from '../pages/error-page.ts';
import { html } from '../pages/html.ts';
import {
  formField,
  linkButton,
  parseForm,
  problemNotice,
  sendPage,
  textsFor,
} from '../pages/page.ts';
import { passwordScripts } from '../pages/password-field.ts';
import { contextOf } from '../requests/request-context.ts';
import type { AccountDependencies } from './account.ts';
import {
  newPasswordFields,
  newPasswordProblem,
  type PasswordProblem,
  setPassword,
} from './choose-password.ts';

export const RESET_PASSWORD_PATH = '/reset-password';

export function createResetRoutes(dependencies: Pick<AccountDependencies, 'identity'>): Router {
  const { actionLinks, users } = dependencies.identity;
  const router = Router({ caseSensitive: true, strict: true });

  /** The user of a link. Without one, the reply is an error page. */
  async function userOf(request: Request, response: Response, token: string) {
    const link = await actionLinks.find('reset', token);
    const user = link && (await users.find(link.userId));
    if (user === undefined) {
      sendErrorPage(request, response, 400, 'linkInvalid');
    } else {
      contextOf(request).orgId = user.orgId;
    }
    return user;
  }

  router.get('/', async (request, response) => {
    const token = String(request.query.token ?? '');
    const user = await userOf(request, response, token);
    if (user !== undefined) {
      show(request, response, { user, token });
    }
  });

  router.post('/', parseForm, async (request, response) => {
    const token = formField(request, 'token');
    const user = await userOf(request, response, token);
    if (user === undefined) {
      return;
    }
    const problem = await newPasswordProblem(request, user);
    if (problem !== undefined) {
      show(request, response.status(422), { user, token, problem });
    } else if ((await actionLinks.take('reset', token)) === undefined) {
      sendErrorPage(request, response, 400, 'linkInvalid');
    } else {
      await setPassword(request, user, dependencies);
      response.redirect(303, `${RESET_PASSWORD_PATH}/done`);
    }
  });

  router.get('/done', (request, response) => {
    const texts = textsFor(request);
    const content = html`<p>${texts.resetDone}</p>
${linkButton('/account', texts.openAccount)}`;
    sendPage(response, { texts, title: texts.resetDoneTitle, content });
  });

  router.use(rejectMethods(router));
  return router;
}

function show(
  request: Request,
  response: Response,
  {
    user,
    token,
    problem,
  }: {
    readonly user: User;
    readonly token: string;
    readonly problem?: PasswordProblem;
  },
): void {
  const texts = textsFor(request);
  const { username } = user;
  const content = html`<p class="lead">${texts.resetLead}</p>
${problemNotice(problem && texts.passwordProblems[problem])}
<form method="post" action="${RESET_PASSWORD_PATH}">
<input type="hidden" name="token" value="${token}">
${newPasswordFields(texts, { username, problem })}
<button class="primary" type="submit">${texts.setPassword}</button>
</form>`;
  sendPage(response, { texts, title: texts.resetTitle, content, scripts: passwordScripts });
}
