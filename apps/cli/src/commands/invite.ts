import { RejectedChangeError, userProfileSchema } from '@gatehouse/identity';
import { type Command, text } from '../command-line/command.ts';
import { assertOrganizationExists, validate } from '../command-line/member-options.ts';
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
  async run(input, { identity, audit, environment }) {
    const { email = '' } = validate(userProfileSchema, { email: input.positionals.email });
    if (input.options.withdraw === true) {
      await identity.actionLinks.endForAddress(email);
      await audit({ event: 'invitation_withdrawn' });
      return { json: { email }, text: `No link creates an account with ${email} any more.` };
    }
    const orgId = text(input.options.org) ?? '';
    await assertOrganizationExists(orgId, identity);
    const token = await identity.actionLinks.issue({ kind: 'invite', orgId, email });
    if (token === undefined) {
      throw new RejectedChangeError('A user has this verified address. Run gatehouse users list.');
    }
    const link = `${authorizationServerUrl(environment)}/create-account?token=${token}`;
    const isMailed = Boolean(environment.SMTP_URL || environment.SMTP_URL_FILE);
    if (isMailed) {
      await identity.mails.add(orgId, { kind: 'invite', orgId, email, token, at: Date.now() });
    }
    await audit({ event: 'invitation_issued', organizationId: orgId });
    const mailed = isMailed ? [`The authorization server sends it to ${email}.`] : [];
    const lines = ['Valid once, for one week:', link, ...mailed];
    return { json: { link, isMailed }, text: lines.join('\n') };
  },
};
