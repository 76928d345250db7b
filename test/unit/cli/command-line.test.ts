import { expect } from 'chai';
import { asksForJSON, readCommandLine } from '../../../cli/framework/command-line.ts';
import { COMMAND_NAMES } from '../../../cli/framework/commands.ts';
import { EXIT_CODES } from '../../../cli/framework/failure.ts';

const VERSION = '1.2.3';

function read(...args: string[]) {
  const line = readCommandLine(args, VERSION);
  if (line.kind !== 'run') throw new Error('nothing is run');
  return line.invocation;
}
const print = (...args: string[]): string => {
  const line = readCommandLine(args, VERSION);
  return line.kind === 'print' ? line.text : '';
};

describe('the command line of berth', () => {
  it('has options anywhere, short and long', () => {
    const { name, positionals, values, flags } = read(
      'logs',
      '-n',
      'team',
      'chat',
      '--tail=5',
      '-p',
      '--json',
    );
    expect({ name, positionals, values, flags: [...flags] }).to.deep.equal({
      name: 'logs',
      positionals: ['chat'],
      values: { namespace: 'team', tail: '5' },
      flags: ['previous', 'json'],
    });
  });

  it('passes on what follows the name of a deployment to an agent, options of the same names as well', () => {
    const { positionals, values, passedOn } = read(
      'claude',
      '-n',
      'team',
      'chat',
      '--json',
      '-n',
      'x',
      '--help',
    );
    expect({ positionals, values, passedOn }).to.deep.equal({
      positionals: ['chat'],
      values: { namespace: 'team' },
      passedOn: ['--json', '-n', 'x', '--help'],
    });
    expect(read('codex', 'chat', '--', '-p').passedOn).to.deep.equal(['-p']);
  });

  it('asks for JSON only by an option of its own', () => {
    expect(asksForJSON(['why', 'chat', '--json'])).to.equal(true);
    expect(asksForJSON(['why', '--wrong', '--json'])).to.equal(true);
    expect(asksForJSON(['codex', '--json', 'chat'])).to.equal(true);
    expect(asksForJSON(['codex', 'chat', 'exec', '--json', 'Explain this'])).to.equal(false);
    expect(asksForJSON(['chat', 'chat', '--system', '--json'])).to.equal(false);
    expect(asksForJSON(['chat', 'chat', '--', '--json'])).to.equal(false);
  });

  it('prints help with all commands and exit codes, that of a command with its options, and the version', () => {
    for (const asking of [[], ['--help'], ['-h'], ['help']]) {
      const help = print(...asking);
      for (const name of COMMAND_NAMES) expect(help).to.include(`\n  ${name} `);
      for (const code of Object.values(EXIT_CODES)) expect(help).to.match(new RegExp(`\\b${code} `));
    }
    expect(print('key', '--help'))
      .to.include('usage: berth key [NAME] [options]')
      .and.include('--rpm NUMBER');
    expect(print('help', 'deploy')).to.equal(print('deploy', '--help'));
    expect(print('--version')).to.equal(VERSION);
  });

  it('is refused with what is allowed', () => {
    const cases: [string[], string][] = [
      [['wy', 'chat'], 'there is no command wy; the commands are why, logs, key'],
      [['-n', 'team', 'why', 'chat'], 'options follow the command: berth why -n …'],
      [['why'], 'expected berth why NAME, got 0 arguments'],
      [['why', 'a', 'b'], 'expected berth why NAME, got 2 arguments'],
      [['why', 'a', '--rpm', '1'], "Unknown option '--rpm'"],
      [['claude', '--wrong', 'chat'], "Unknown option '--wrong'"],
    ];
    for (const [args, problem] of cases) expect(() => read(...args)).to.throw(problem);
    expect(() => read('why', 'a', '--rpm', '1')).to.throw('See berth why --help');
  });
});
