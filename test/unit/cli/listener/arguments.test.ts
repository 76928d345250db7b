import { expect } from 'chai';
import { readCommandLine } from '../../../../cli/framework/command-line.ts';
import { type Arguments, readArguments } from '../../../../cli/listener/arguments.ts';

const CONSOLE = ['--console', 'https://console.example.com/team'];
const BY_CONSOLE = {
  kind: 'console',
  url: 'https://console.example.com',
  tokenFile: null,
  secretFile: null,
  namespace: null,
  endpoint: null,
};

function read(...args: string[]): Arguments {
  const line = readCommandLine(['listen', ...args], '');
  if (line.kind !== 'run') throw new Error(line.text);
  const { positionals, values, flags } = line.invocation;
  return readArguments(positionals[0], values, flags);
}

describe('the arguments of berth listen', () => {
  it('follow make run, and forward to the URL', () => {
    expect(read('http://localhost:3000/hook', '--namespace', 'team', '--folder', 'state')).to.deep.equal({
      target: 'http://localhost:3000/hook',
      source: { kind: 'run' },
    });
    expect(read()).to.deep.equal({ target: null, source: { kind: 'run' } });
  });

  it('follow a console', () => {
    expect(read(...CONSOLE)).to.deep.equal({ target: null, source: BY_CONSOLE });
    const given = ['--token-file', 'token', '--secret-file=secret', '-n', 'team', '--endpoint', 'results'];
    expect(read(...CONSOLE, ...given, 'http://127.0.0.1:1')).to.deep.equal({
      target: 'http://127.0.0.1:1/',
      source: {
        ...BY_CONSOLE,
        tokenFile: 'token',
        secretFile: 'secret',
        namespace: 'team',
        endpoint: 'results',
      },
    });
  });

  it('send no token over plain HTTP to other machines, unless told to', () => {
    const reading =
      (url: string, ...more: string[]) =>
      () =>
        read('--console', url, ...more);
    expect(reading('http://console.example.com')).to.throw('would get your token over plain HTTP');
    expect(reading('http://127.0.0.1.example.com')).to.throw('would get your token over plain HTTP');
    expect(reading('http://console.example.com', '--plain-http')).not.to.throw();
    for (const host of ['localhost:8196', 'console.localhost', '127.0.0.1:8196', '[::1]:8196'])
      expect(reading(`http://${host}`)).not.to.throw();
  });

  it('are refused with what is wrong', () => {
    const cases: [string[], string][] = [
      [['localhost:3000'], 'localhost:3000 is not an address such as http://localhost:3000/hook'],
      [['http://a', 'http://b'], 'expected berth listen [URL], got 2 arguments'],
      [['--console', 'console'], 'console is not an address such as https://console.example.com'],
      [['--endpoint', 'results'], '--endpoint requires --console'],
      [['--plain-http'], '--plain-http requires --console'],
      [[...CONSOLE, '--folder', 'state'], '--folder cannot be combined with --console'],
      [['--replay'], "Unknown option '--replay'"],
    ];
    for (const [args, problem] of cases) expect(() => read(...args)).to.throw(problem);
  });
});
