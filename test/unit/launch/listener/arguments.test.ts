import { expect } from 'chai';
import { readArguments } from '../../../../launch/listener/arguments.ts';

const CONSOLE = ['--console', 'https://console.example.com/team'];
const BY_CONSOLE = {
  kind: 'console',
  url: 'https://console.example.com',
  tokenFile: null,
  secretFile: null,
  namespace: null,
  endpoint: null,
};

describe('the arguments of berth-listen', () => {
  it('follow make run, and forward to the URL', () => {
    expect(
      readArguments(['http://localhost:3000/hook', '--namespace', 'team', '--folder', 'state']),
    ).to.deep.equal({
      kind: 'listen',
      target: 'http://localhost:3000/hook',
      source: { kind: 'run', folder: 'state', namespace: 'team' },
    });
    expect(readArguments([])).to.deep.equal({
      kind: 'listen',
      target: null,
      source: { kind: 'run', folder: null, namespace: null },
    });
  });

  it('follow a console', () => {
    expect(readArguments(CONSOLE)).to.deep.equal({ kind: 'listen', target: null, source: BY_CONSOLE });
    const given = [
      '--token-file',
      'token',
      '--secret-file=secret',
      '--namespace',
      'team',
      '--endpoint',
      'results',
    ];
    expect(readArguments([...CONSOLE, ...given, 'http://127.0.0.1:1'])).to.deep.equal({
      kind: 'listen',
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

  it('ask for help and the version', () => {
    expect(readArguments(['-h'])).to.deep.equal({ kind: 'help' });
    expect(readArguments(['--version'])).to.deep.equal({ kind: 'version' });
  });

  it('send no token over plain HTTP to other machines, unless told to', () => {
    const read =
      (url: string, ...more: string[]) =>
      () =>
        readArguments(['--console', url, ...more]);
    expect(read('http://console.example.com')).to.throw('would get your token over plain HTTP');
    expect(read('http://127.0.0.1.example.com')).to.throw('would get your token over plain HTTP');
    expect(read('http://console.example.com', '--plain-http')).not.to.throw();
    for (const host of ['localhost:8196', 'console.localhost', '127.0.0.1:8196', '[::1]:8196'])
      expect(read(`http://${host}`)).not.to.throw();
  });

  it('are refused with what is wrong', () => {
    const cases: [string[], string][] = [
      [['localhost:3000'], 'localhost:3000 is not an address such as http://localhost:3000/hook'],
      [['http://a', 'http://b'], 'expected at most one URL, got 2'],
      [['--console', 'console'], 'console is not an address such as https://console.example.com'],
      [['--endpoint', 'results'], '--endpoint requires --console'],
      [[...CONSOLE, '--folder', 'state'], '--folder cannot be combined with --console'],
      [['--replay'], "Unknown option '--replay'"],
    ];
    for (const [args, problem] of cases) expect(() => readArguments(args)).to.throw(problem);
  });
});
