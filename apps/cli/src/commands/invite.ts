import { type Command, text } from '../command-line/command.ts';
import { lines } from '../command-line/format.ts';
import { authorizationServerUrl } from '../open-identity-store.ts';

export const invite: Command = {
  usage: 'users invite <email>',
  summary: 'Print a link with which a person creates an account with this address.',
  options: {
    'org <id>': 'Organization of the new user.',
    withdraw: 'End all links for a new account with this address instead.',
  },
  notes: [
    'The link is valid once and for one week, also while the registration is closed. Give it only to the owner of the address, because the account has this address as verified.',
    'If SMTP_URL is set, the authorization server also sends it.',
  ],
  example: 'alice@example.com --org acme',
  async run(input, { operators, operator, environment }) {
    const { email = '' } = input.positionals;
    if (input.options.withdraw === true) {
      await operators.users.withdrawInvitation(operator, email);
      return { json: { email }, text: `No link creates an account with ${email} any more.` };
    }
    const isMailed = Boolean(environment.SMTP_URL || environment.SMTP_URL_FILE);
    const invitation = { email, orgId: text(input.options.org) ?? '' };
    const { token } = await operators.users.invite(operator, invitation, { isMailed });
    const link = `${authorizationServerUrl(environment)}/create-account?token=${token}`;
    const mailed = isMailed && `The authorization server sends it to ${email}.`;
    return { json: { link, isMailed }, text: lines('Valid once, for one week:', link, mailed) };
  },
};
