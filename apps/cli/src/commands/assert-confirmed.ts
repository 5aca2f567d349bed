import { RejectedChangeError } from '@gatehouse/identity';
import {
  type CommandContext,
  type CommandInput,
  flag,
  type Option,
} from '../command-line/command.ts';

export const yesOption: Readonly<Record<'yes', Option>> = {
  yes: { type: 'boolean', description: 'Do not ask for confirmation.' },
};

/**
 * Asks before a change that revokes access. Without a terminal nobody can answer, so scripts add
 * `--yes`. Otherwise the command changes nothing and exits with 1.
 *
 * @throws RejectedChangeError without `--yes` and without confirmation at the prompt
 */
export async function assertConfirmed(
  { options }: CommandInput,
  { terminal }: Pick<CommandContext, 'terminal'>,
  question: string,
): Promise<void> {
  if (flag(options.yes) !== true && !(await terminal.confirm(question))) {
    const advice = ` Add --yes to continue without a prompt: ${question}`;
    throw new RejectedChangeError(`Nothing was changed.${terminal.isInteractive ? '' : advice}`);
  }
}
