import { type Command, nameOf, optionName } from './command.ts';

/** A script for bash and zsh that completes commands and options. It runs no command. */
export function completionScript(commands: readonly Command[]): string {
  const names = commands.map((command) => nameOf(command).split(' '));
  const groups = [...new Set(names.map(([group = '']) => group))];
  const verbs = groups.map((group) => {
    const ofGroup = names.flatMap(([first, verb]) => (first === group && verb ? [verb] : []));
    return [group, ofGroup.length > 0 ? ofGroup.join(' ') : optionsOf(commands, group)] as const;
  });
  const options = names
    .filter(({ length }) => length === 2)
    .map((name) => [name.join(' '), optionsOf(commands, name.join(' '))] as const);
  return `# Completes gatehouse in bash and zsh: source <(gatehouse completion)
[ -n "\${ZSH_VERSION:-}" ] && autoload -U +X bashcompinit && bashcompinit
_gatehouse() {
  local words
  case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${options.map(([name, each]) => `    '${name}') words='${each}' ;;`).join('\n')}
    *) case "\${COMP_WORDS[1]}" in
${verbs.map(([name, each]) => `      ${name}) words='${each}' ;;`).join('\n')}
    esac ;;
  esac
  [ "$COMP_CWORD" -eq 1 ] && words='${[...groups, 'help', 'version', 'completion'].join(' ')}'
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _gatehouse gatehouse`;
}

function optionsOf(commands: readonly Command[], name: string): string {
  const command = commands.find((each) => nameOf(each) === name);
  return [...Object.keys(command?.options ?? {}), 'json', 'help']
    .map((form) => `--${optionName(form)}`)
    .join(' ');
}
