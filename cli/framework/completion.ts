/** Completion scripts of shells, by the table of commands. They ask `berth completion` for the names of deployments. Pure. */

import { optionsOf } from './command-line.ts';
import { COMMAND_NAMES, type CommandName, describeCommand } from './commands.ts';
import { Failure } from './failure.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** The lists of names that scripts ask for: `berth completion deployments`. */
export const NAME_LISTS = ['deployments', 'catalog'] as const;

/** Throws Failure with the shells that there are. */
export function writeCompletion(shell: string): string {
  const known = SHELLS.find((each) => each === shell);
  if (known) return WRITERS[known]();
  throw new Failure('usage', `there is no completion for ${shell}; there is one for ${SHELLS.join(', ')}`);
}

const optionNames = (name: CommandName): string[] =>
  Object.keys(optionsOf(describeCommand(name))).map((option) => `--${option}`);

/** A command of the shell that prints the candidates for the first argument. */
function candidates(name: CommandName): string {
  const { completes } = describeCommand(name);
  if (completes === 'deployment') return 'berth completion deployments 2>/dev/null';
  if (completes === 'catalog') return 'berth completion catalog 2>/dev/null';
  return completes === 'shell' ? `printf "%s\\n" ${SHELLS.join(' ')}` : 'true';
}

const hasFiles = (name: CommandName): boolean => describeCommand(name).completes === 'catalog';

function writeBash(): string {
  const cases = COMMAND_NAMES.map(
    (name) =>
      `    ${name}) options="${optionNames(name).join(' ')}"; [[ $current == -* ]] || words=$(${candidates(name)})${hasFiles(name) ? '; files=1' : ''} ;;`,
  );
  return `# bash: source <(berth completion bash)
_berth() {
  local current=\${COMP_WORDS[COMP_CWORD]} options="" words="" files=""
  if (( COMP_CWORD == 1 )); then
    COMPREPLY=($(compgen -W "${COMMAND_NAMES.join(' ')} --help --version" -- "$current"))
    return
  fi
  case \${COMP_WORDS[1]} in
${cases.join('\n')}
  esac
  if [[ $current == -* ]]; then words=$options; files=""; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ $files ]]; then COMPREPLY+=($(compgen -f -- "$current")); fi
}
complete -F _berth berth
`;
}

function writeZsh(): string {
  const cases = COMMAND_NAMES.map((name) => {
    const files = hasFiles(name) ? '; _files' : '';
    return `    ${name}) if [[ $PREFIX == -* ]]; then compadd -- ${optionNames(name).join(' ')}; else compadd -- \${(f)"$(${candidates(name)})"}${files}; fi ;;`;
  });
  const commands = COMMAND_NAMES.map((name) => `'${name}:${quote(describeCommand(name).about)}'`);
  return `#compdef berth
# zsh: source <(berth completion zsh), after compinit
_berth() {
  local -a commands
  if (( CURRENT == 2 )); then
    commands=(${commands.join(' ')})
    _describe command commands
    return
  fi
  case $words[2] in
${cases.join('\n')}
  esac
}
compdef _berth berth
`;
}

/** Within single quotes. */
const quote = (text: string): string => text.replaceAll("'", "'\\''").replaceAll(':', '\\:');

function writeFish(): string {
  const lines = COMMAND_NAMES.flatMap((name) => {
    const command = describeCommand(name);
    const isOn = `-n "__fish_seen_subcommand_from ${name}"`;
    const options = Object.entries(optionsOf(command)).map(
      ([option, { short, type, about }]) =>
        `complete -c berth ${isOn} -l ${option}${short ? ` -s ${short}` : ''}${type === 'string' ? ' -r' : ''} -d '${fishQuote(about)}'`,
    );
    const words = candidates(name);
    const list = words === 'true' ? [] : [`complete -c berth ${isOn} -a '(${words})'`];
    const files = hasFiles(name) ? [`complete -c berth ${isOn} -F`] : [];
    return [
      `complete -c berth -n __fish_use_subcommand -a ${name} -d '${fishQuote(command.about)}'`,
      ...options,
      ...list,
      ...files,
    ];
  });
  return `# fish: berth completion fish | source
complete -c berth -f
${lines.join('\n')}
`;
}

const fishQuote = (text: string): string => text.replaceAll(/['\\]/g, '\\$&');

const WRITERS: Record<Shell, () => string> = { bash: writeBash, zsh: writeZsh, fish: writeFish };
