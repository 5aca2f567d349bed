import { RejectedChangeError } from '@gatehouse/identity';

/**
 * The list with additions and without removals, each entry once.
 *
 * @throws RejectedChangeError if an entry to remove is not in the list, which can be a misspelling
 */
export function changedList(
  existing: readonly string[],
  added: readonly string[] = [],
  removed: readonly string[] = [],
): readonly string[] {
  const missing = removed.find((entry) => !existing.includes(entry));
  if (missing !== undefined) {
    throw new RejectedChangeError(`Nothing was changed. ${missing} is not in the list.`);
  }
  const kept = existing.filter((entry) => !removed.includes(entry));
  return [...new Set([...kept, ...added])];
}
