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
 * @param unchanged the message if the operator does not confirm
 * @throws RejectedChangeError without `--yes` and without confirmation at the prompt
 */
export async function assertConfirmed(
  { options }: CommandInput,
  { terminal }: Pick<CommandContext, 'terminal'>,
  { question, unchanged }: { readonly question: string; readonly unchanged: string },
): Promise<void> {
  if (flag(options.yes) !== true && !(await terminal.confirm(question))) {
    throw new RejectedChangeError(`${unchanged} Add --yes to continue without a prompt.`);
  }
}
