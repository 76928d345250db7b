/** Completion scripts of shells, by the table of commands. They call no program and no server: names that a server sends could be commands of the shell. Pure. */

import { optionsOf } from './command-line.ts';
import { COMMAND_NAMES, type CommandName, describeCommand } from './commands.ts';
import { Failure } from './failure.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** `catalog`: names of its models. Throws Failure with the shells that there are. */
export function writeCompletion(shell: string, catalog: readonly string[]): string {
  const known = SHELLS.find((each) => each === shell);
  if (known) return WRITERS[known](catalog);
  throw new Failure('usage', `there is no completion for ${shell}; there is one for ${SHELLS.join(', ')}`);
}

const optionNames = (name: CommandName): string =>
  Object.keys(optionsOf(describeCommand(name)))
    .map((option) => `--${option}`)
    .join(' ');

/** What the first argument may be. */
function firstWords(name: CommandName, catalog: readonly string[]): string {
  const { completes } = describeCommand(name);
  if (completes === undefined) return '';
  return (completes === 'catalog' ? catalog : SHELLS).join(' ');
}

function writeBash(catalog: readonly string[]): string {
  const cases = COMMAND_NAMES.map(
    (name) => `    ${name}) options="${optionNames(name)}"; words="${firstWords(name, catalog)}" ;;`,
  );
  return `# bash: source <(berth completion bash)
_berth() {
  local current=\${COMP_WORDS[COMP_CWORD]} options="" words=""
  case \${COMP_WORDS[1]} in
${cases.join('\n')}
  esac
  if (( COMP_CWORD > 2 )); then words=""; fi
  if [[ $current == -* ]]; then words=$options; fi
  if (( COMP_CWORD == 1 )); then words="${COMMAND_NAMES.join(' ')} --help --version"; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o bashdefault -o default -F _berth berth
`;
}

function writeZsh(catalog: readonly string[]): string {
  const cases = COMMAND_NAMES.map(
    (name) => `    ${name}) flags=(${optionNames(name)}); first=(${firstWords(name, catalog)}) ;;`,
  );
  const commands = COMMAND_NAMES.map((name) => `'${name}:${quote(describeCommand(name).about)}'`);
  return `#compdef berth
# zsh: source <(berth completion zsh), after compinit
_berth() {
  local -a names flags first
  if (( CURRENT == 2 )); then
    names=(${commands.join(' ')})
    _describe command names
    return
  fi
  case $words[2] in
${cases.join('\n')}
  esac
  if [[ $PREFIX == -* ]]; then
    compadd -a flags
    return
  fi
  if (( CURRENT == 3 )); then compadd -a first; fi
  _files
}
compdef _berth berth
`;
}

/** Within single quotes. */
const quote = (text: string): string => text.replaceAll("'", "'\\''").replaceAll(':', '\\:');

function writeFish(catalog: readonly string[]): string {
  const lines = COMMAND_NAMES.flatMap((name) => {
    const command = describeCommand(name);
    const isOn = `-n "__fish_seen_subcommand_from ${name}"`;
    const options = Object.entries(optionsOf(command)).map(
      ([option, { short, type, about }]) =>
        `complete -c berth ${isOn} -l ${option}${short ? ` -s ${short}` : ''}${type === 'string' ? ' -r' : ''} -d '${fishQuote(about)}'`,
    );
    const words = firstWords(name, catalog);
    return [
      `complete -c berth -n __fish_use_subcommand -f -a ${name} -d '${fishQuote(command.about)}'`,
      ...options,
      ...(words ? [`complete -c berth ${isOn} -a '${words}'`] : []),
    ];
  });
  return `# fish: berth completion fish | source
${lines.join('\n')}
`;
}

const fishQuote = (text: string): string => text.replaceAll(/['\\]/g, '\\$&');

const WRITERS: Record<Shell, (catalog: readonly string[]) => string> = {
  bash: writeBash,
  zsh: writeZsh,
  fish: writeFish,
};
