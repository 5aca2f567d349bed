import { registrationTokenSchema } from '@gatehouse/identity';
import type { RegistrationTokenInput } from '@gatehouse/operators';
import type { Command } from '../command-line/command.ts';
import { formatTime } from '../command-line/format.ts';
import { createMemberOptions } from '../command-line/member-options.ts';

const members = createMemberOptions(registrationTokenSchema.shape, {
  'org <id>': 'Organization that owns the clients.',
  'count <number>': 'How many clients the token can register. Default: 1. Maximum: 100.',
  'valid-for <days>': 'When the token expires. Default: 7. Maximum: 365.',
  'scope <scope...>': 'Scope that the clients can have.',
  'redirect-host <host...>':
    'Host of redirect URIs, such as app.example, or the scheme of an app with its colon.',
});

export const registrationTokenCommand: Command = {
  usage: 'clients registration-token',
  summary: 'Issue a token to register clients with (RFC 7591). Prints it once.',
  options: members.options,
  notes: [
    'Send it as bearer token to POST /register of the authorization server.',
    'To revoke it, run gatehouse tokens revoke. Registered clients stay.',
  ],
  example: '--org acme --count 5 --scope billing:read --redirect-host localhost',
  async run(input, { operators, operator }) {
    const issued = await operators.clients.issueRegistrationToken(operator, {
      ...(members.read(input) as RegistrationTokenInput),
    });
    const { token, expiresAt, ...allowed } = issued;
    return {
      json: { ...allowed, token, expiresAt },
      text: [
        `The token registers up to ${allowed.count} client(s) until ${formatTime(expiresAt)}.`,
        `Registration token (shown once): ${token}`,
      ].join('\n'),
    };
  },
};
