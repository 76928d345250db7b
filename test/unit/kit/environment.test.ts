import { expect } from 'chai';
import { type Environment, EnvironmentError, parseEnvironment } from '../../../kit/environment.ts';

const read = <T>(value: string | undefined, reader: (env: Environment) => T): T =>
  parseEnvironment({ NAME: value }, reader);

describe('environment variables', () => {
  it('take their fallback where they are unset or empty', () => {
    for (const value of [undefined, '']) {
      expect(read(value, (env) => env.text('NAME'))).to.equal(undefined);
      expect(read(value, (env) => env.oneOf('NAME', ['a', 'b'], 'b'))).to.equal('b');
      expect(read(value, (env) => env.flag('NAME', true))).to.equal(true);
      expect(read(value, (env) => env.port('NAME', 8080))).to.equal(8080);
      expect(read(value, (env) => env.origin('NAME'))).to.equal(undefined);
      expect(read(value, (env) => env.path('NAME', '/health'))).to.equal('/health');
      expect(read(value, (env) => env.list('NAME'))).to.deep.equal([]);
      expect(read(value, (env) => env.json('NAME', Array.isArray, ['x']))).to.deep.equal(['x']);
    }
  });

  it('are read as their type', () => {
    expect(read('7', (env) => env.integer('NAME', { fallback: 0, max: 10 }))).to.equal(7);
    expect(read('https://h:1/p', (env) => env.origin('NAME'))).to.equal('https://h:1');
    expect(read(' a, ,b', (env) => env.list('NAME'))).to.deep.equal(['a', 'b']);
    expect(read('["x"]', (env) => env.json('NAME', Array.isArray, []))).to.deep.equal(['x']);
  });

  const wrong: [string, string, (env: Environment) => unknown, string][] = [
    ['a required one that is empty', '', (env) => env.required('NAME'), 'NAME must be set'],
    ['a required origin that is empty', '', (env) => env.requiredOrigin('NAME'), 'NAME must be set'],
    ['another word', 'c', (env) => env.oneOf('NAME', ['a', 'b'], 'a'), 'NAME must be one of a, b, not "c"'],
    ['a flag', 'yes', (env) => env.flag('NAME'), 'NAME must be true or false, not "yes"'],
    ['a port', '0', (env) => env.port('NAME', 1, 1), 'NAME must be a port from 1 to 65535, not "0"'],
    [
      'a number with a fraction',
      '1.5',
      (env) => env.integer('NAME', { fallback: 0, max: 9 }),
      'NAME must be a whole number from 0 to 9, not "1.5"',
    ],
    ['a path', 'health', (env) => env.path('NAME', '/'), 'NAME must begin with "/", not "health"'],
    [
      'a file',
      '',
      (env) => env.requiredFile('/nowhere', 'NAME'),
      "cannot read /nowhere (NAME): ENOENT: no such file or directory, open '/nowhere'",
    ],
  ];
  for (const [name, value, reader, message] of wrong)
    it(`are refused with their name and what they may be: ${name}`, () =>
      expect(() => read(value, reader)).to.throw(EnvironmentError, message));

  it('are refused together, each once', () => {
    const readAll = () =>
      parseEnvironment({ PORT: 'http' }, (env) => [
        env.required('URL'),
        env.required('URL'),
        env.port('PORT', 1),
      ]);
    expect(readAll).to.throw(
      EnvironmentError,
      /^URL must be set\nPORT must be a port from 0 to 65535, not "http"$/,
    );
  });
});
