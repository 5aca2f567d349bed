import { RefusedChange } from '@gatehouse/identity';
import { type CommandContext, type CommandInput, flag, type Option } from '../command.ts';

/** The option that answers the question beforehand, for scripts. */
export const sureOption: Readonly<Record<'yes', Option>> = {
  yes: { type: 'boolean', description: 'Do not ask.' },
};

/**
 * Before what cannot be undone.
 *
 * @param unchanged what is said when nothing was done
 * @throws RefusedChange without `--yes` and without a person who says yes
 */
export async function assertSure(
  { options }: CommandInput,
  { terminal }: Pick<CommandContext, 'terminal'>,
  { question, unchanged }: { readonly question: string; readonly unchanged: string },
): Promise<void> {
  if (flag(options.yes) !== true && !(await terminal.confirm(question))) {
    throw new RefusedChange(`${unchanged} Say --yes to go ahead.`);
  }
}
