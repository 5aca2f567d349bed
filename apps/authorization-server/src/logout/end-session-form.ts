import type { RequestHandler } from 'express';
import { formField } from '../pages/form-field.ts';
import { providerRoutes } from '../provider/routes.ts';

const parameters = [
  'id_token_hint',
  'post_logout_redirect_uri',
  'state',
  'ui_locales',
  'client_id',
  'logout_hint',
];

/**
 * An application may post its logout request (RP-Initiated Logout §2). A browser leaves our Lax cookies out of a
 * form from elsewhere, so the request goes round as a GET, which carries them.
 */
export const endSessionForm: RequestHandler = (request, response) => {
  const query = new URLSearchParams();
  for (const name of parameters) {
    const value = formField(request, name);
    if (value !== '') {
      query.set(name, value);
    }
  }
  response.redirect(303, `${providerRoutes.end_session}?${query}`);
};
