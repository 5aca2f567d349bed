/** The names of commands in the release before 1.0.0. They work for one release, with a warning. */
const renamed: readonly (readonly [old: string, current: string])[] = [
  ['revoke token', 'tokens revoke'],
  ['revoke client', 'tokens revoke --client'],
  ['revoke user', 'tokens revoke --user'],
  ['revoke all', 'tokens revoke --all'],
  ['revoke replay', 'audit replay'],
  ['clients disable', 'clients change --disable'],
  ['clients enable', 'clients change --enable'],
  ['users disable', 'users change --disable'],
  ['users enable', 'users change --enable'],
  ['users unlock', 'users change --unlock'],
  ['users sign-out', 'tokens revoke --user'],
  ['users sessions', 'users show'],
  ['audit tail', 'audit list --follow'],
  ['master-key add', 'master-key rotate'],
  ['master-key retire', 'master-key rotate --finish'],
  ['restore', 'backup restore'],
];

/** The arguments with the current name of the command. Warns if they had an old one. */
export function withCurrentName(
  args: readonly string[],
  warn: (warning: string) => void,
): readonly string[] {
  const words = args.filter((arg) => arg !== '--json');
  const isNamed = ([name]: readonly string[]) => `${words.join(' ')} `.startsWith(`${name} `);
  const [old, current] = renamed.find(isNamed) ?? oldBackup(words);
  if (old === undefined || current === undefined) {
    return args;
  }
  warn(
    `gatehouse ${old} is deprecated. Use gatehouse ${current}. The next release removes the old name.`,
  );
  const rest = words.slice(old.split(' ').length);
  const json = args.filter((arg) => arg === '--json');
  // The follower ended with --no-follow. A list does without it.
  return old === 'audit tail' && rest.includes('--no-follow')
    ? ['audit', 'list', ...rest.filter((arg) => arg !== '--no-follow'), ...json]
    : [...current.split(' '), ...argumentFirst(rest, current), ...json];
}

/** `revoke client --yes ID` as `tokens revoke --client ID --yes`: the argument is now a value. */
function argumentFirst(rest: readonly string[], current: string): readonly string[] {
  const at = /--(client|user)$/.test(current) ? rest.findIndex((arg) => !arg.startsWith('-')) : -1;
  return at === -1 ? rest : [...rest.slice(at, at + 1), ...rest.toSpliced(at, 1)];
}

/** `gatehouse backup FOLDER` */
function oldBackup([group, verb = '-']: readonly string[]): readonly string[] {
  return group === 'backup' && !/^(-|create$|restore$)/.test(verb)
    ? ['backup', 'backup create']
    : [];
}
