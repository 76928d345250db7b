/** The command line of `berth`, and its help. Pure. */
import { parseArgs } from 'node:util';
import {
  COMMAND_NAMES,
  COMMON_OPTIONS,
  type Command,
  type CommandName,
  describeCommand,
  type Option,
} from './commands.ts';
import { Failure } from './failure.ts';

export interface Invocation {
  name: CommandName;
  positionals: string[];
  /** For another program. */
  passedOn: string[];
  flags: ReadonlySet<string>;
  values: Readonly<Record<string, string | undefined>>;
}

export type CommandLine = { kind: 'run'; invocation: Invocation } | { kind: 'print'; text: string };

export const optionsOf = (command: Command): Record<string, Option> => ({
  ...command.options,
  ...COMMON_OPTIONS,
});

/** Throws Failure with what is allowed. */
export function readCommandLine(args: readonly string[], version: string): CommandLine {
  const [first, ...rest] = args;
  const about = COMMAND_NAMES.find((each) => each === rest[0]);
  if (first === 'help' && about) return { kind: 'print', text: writeCommandHelp(about) };
  if (first === undefined || first === '--help' || first === '-h' || first === 'help')
    return { kind: 'print', text: writeHelp() };
  if (first === '--version') return { kind: 'print', text: version };
  const name = COMMAND_NAMES.find((each) => each === first);
  if (!name && first.startsWith('-'))
    throw new Failure('usage', `options follow the command: berth why ${first} …, not berth ${first}`);
  if (!name)
    throw new Failure('usage', `there is no command ${first}; the commands are ${COMMAND_NAMES.join(', ')}`);
  const command = describeCommand(name);
  const { own, passedOn } = splitArguments(command, rest);
  const { values, positionals } = parse(name, own);
  if (values.help) return { kind: 'print', text: writeCommandHelp(name) };
  if (positionals.length < command.min || positionals.length > command.max)
    throw new Failure('usage', `expected ${writeUsage(name)}, got ${positionals.length} arguments`);
  const entries = Object.entries(values);
  return {
    kind: 'run',
    invocation: {
      name,
      positionals,
      passedOn,
      flags: new Set(entries.flatMap(([option, value]) => (value === true ? [option] : []))),
      values: Object.fromEntries(
        entries.flatMap(([option, value]) => (typeof value === 'string' ? [[option, value]] : [])),
      ),
    },
  };
}

/** Whether `--json` is an option of `berth` itself, and no value nor another program's; also where the rest is wrong. */
export function asksForJSON([first, ...rest]: readonly string[]): boolean {
  const name = COMMAND_NAMES.find((each) => each === first);
  if (!name) return rest.includes('--json');
  const command = describeCommand(name);
  const tokens = tokenize(command, splitArguments(command, rest).own);
  return tokens.some((token) => token.kind === 'option' && token.name === 'json');
}

/** Whatever is wrong with them. */
const tokenize = (command: Command, args: string[]) =>
  parseArgs({
    args,
    options: toParsed(optionsOf(command)),
    allowPositionals: true,
    strict: false,
    tokens: true,
  }).tokens;

function parse(name: CommandName, args: string[]) {
  try {
    const options = optionsOf(describeCommand(name));
    return parseArgs({ args, options: toParsed(options), allowPositionals: true });
  } catch (error) {
    throw new Failure('usage', `${(error as Error).message}. See berth ${name} --help`, { cause: error });
  }
}

const toParsed = (options: Record<string, Option>) =>
  Object.fromEntries(
    Object.entries(options).map(([name, { type, short }]) => [name, { type, ...(short && { short }) }]),
  );

/** Options of the agents are not Berth's, whatever their names. */
function splitArguments(command: Command, args: string[]): { own: string[]; passedOn: string[] } {
  if (!command.passesOn) return { own: args, passedOn: [] };
  const name = tokenize(command, args).find(({ kind }) => kind === 'positional');
  if (!name) return { own: args, passedOn: [] };
  const rest = args.slice(name.index + 1);
  return { own: args.slice(0, name.index + 1), passedOn: rest[0] === '--' ? rest.slice(1) : rest };
}

const writeUsage = (name: CommandName): string => `berth ${name} ${describeCommand(name).arguments}`;

function writeHelp(): string {
  const rows = COMMAND_NAMES.map((name): [string, string] => {
    const command = describeCommand(name);
    return [`${name} ${command.arguments}`, command.about];
  });
  return `usage: berth COMMAND [options]

Commands:
${formatRows(rows)}

They speak to make run, if one runs here or in a folder above, else to the cluster of your kubeconfig.
Options of all commands:
${formatOptions(COMMON_OPTIONS)}

berth COMMAND --help lists the options of a command, berth --version prints the version.
Exit codes: 0 done, 1 refused or failed, 2 wrong arguments, 3 nothing to speak to, 4 no such thing,
5 not ready; 127 the agent is not installed, else the agent's own.`;
}

function writeCommandHelp(name: CommandName): string {
  const { about, options } = describeCommand(name);
  const own = Object.keys(options).length > 0 ? `\n${formatOptions(options)}\n` : '';
  return `usage: ${writeUsage(name)} [options]

${about[0]!.toUpperCase()}${about.slice(1)}.
${own}
Options of all commands:
${formatOptions(COMMON_OPTIONS)}`;
}

const formatOptions = (options: Record<string, Option>): string =>
  formatRows(
    Object.entries(options).map(([name, { short, value, about }]) => [
      `${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''}`,
      about,
    ]),
  );

function formatRows(rows: [string, string][]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}
