import { type Command, flag, text, UsageError } from '../command-line/command.ts';
import { describeFindings } from '../doctor/describe-findings.ts';
import { examine } from '../doctor/doctor.ts';

const failures: Readonly<Record<string, readonly string[]>> = {
  error: ['error'],
  warning: ['error', 'warning'],
};

export const doctorCommand: Command = {
  name: 'doctor',
  summary:
    'Examine configuration, files, store, clients, clocks, and the servers as clients see them.',
  options: {
    addresses: {
      type: 'boolean',
      description: 'Examine only the public addresses, on a machine without the store.',
    },
    fix: {
      type: 'boolean',
      description: "Remove other users' access to files that Gatehouse created.",
    },
    fail: {
      type: 'string',
      description: 'Lowest severity with exit code 1: error (default) or warning.',
    },
  },
  notes: [
    'Run it with the environment of the servers. It sends a few requests to their public addresses.',
    'Without --fix, it changes nothing.',
  ],
  async runOffline({ options }, { environment, now }) {
    const failing = failures[text(options.fail) ?? 'error'];
    if (failing === undefined) {
      throw new UsageError('--fail must be error or warning.');
    }
    const findings = await examine(environment, now, {
      onlyAddresses: flag(options.addresses) ?? false,
      fix: flag(options.fix) ?? false,
    });
    return {
      json: { findings },
      text: describeFindings(findings),
      isFailure: findings.some(({ severity }) => failing.includes(severity)),
    };
  },
};
