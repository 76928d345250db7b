import { expect } from 'chai';
import {
  flag,
  fraction,
  integer,
  json,
  list,
  oneOf,
  origin,
  path,
  port,
  required,
  text,
  type Variable,
} from '../../../api/variables.ts';
import { EnvironmentError, parseEnvironment } from '../../../kit/environment.ts';

const read = <T>(value: string | undefined, variable: Variable<T>): T =>
  parseEnvironment({ NAME: value }, (env) => env.read(variable));

const ABOUT = 'What it is.';
const choice = oneOf('NAME', ABOUT, ['a', 'b'], 'b');
const names = list('NAME', ABOUT);

describe('environment variables', () => {
  it('take their fallback where they are unset or empty', () => {
    for (const value of [undefined, '']) {
      expect(read(value, text('NAME', ABOUT))).to.equal(undefined);
      expect(read(value, text('NAME', ABOUT, 'x'))).to.equal('x');
      expect(read(value, choice)).to.equal('b');
      expect(read(value, flag('NAME', ABOUT, true))).to.equal(true);
      expect(read(value, port('NAME', ABOUT, 8080))).to.equal(8080);
      expect(read(value, integer('NAME', ABOUT, { max: 9 }))).to.equal(undefined);
      expect(read(value, fraction('NAME', ABOUT, 0.5))).to.equal(0.5);
      expect(read(value, origin('NAME', ABOUT))).to.equal(undefined);
      expect(read(value, path('NAME', ABOUT, '/health'))).to.equal('/health');
      expect(read(value, names)).to.deep.equal([]);
      expect(read(value, json('NAME', ABOUT, 'list', ['x']))).to.deep.equal(['x']);
    }
  });

  it('are read as their type', () => {
    expect(read('7', integer('NAME', ABOUT, { max: 10 }))).to.equal(7);
    expect(read('0', port('NAME', ABOUT, 1))).to.equal(0);
    expect(read('https://h:1/p', origin('NAME', ABOUT))).to.equal('https://h:1');
    expect(read(' a, ,b', names)).to.deep.equal(['a', 'b']);
    expect(read('["x"]', json('NAME', ABOUT, 'list', []))).to.deep.equal(['x']);
  });

  const wrong: [string, string, Variable<unknown>, string][] = [
    ['a required one that is empty', '', required(text('NAME', ABOUT)), 'NAME must be set'],
    ['a required origin that is empty', '', required(origin('NAME', ABOUT)), 'NAME must be set'],
    ['a required origin that is none', 'x', required(origin('NAME', ABOUT)), 'NAME must be an origin'],
    ['another word', 'c', choice, 'NAME must be one of a, b, not "c"'],
    ['a flag', 'yes', flag('NAME', ABOUT), 'NAME must be true or false, not "yes"'],
    ['a port', '0', port('NAME', ABOUT, 1, 1), 'NAME must be a port from 1 to 65535, not "0"'],
    [
      'a number with a fraction',
      '1.5',
      integer('NAME', ABOUT, { max: 9 }),
      'NAME must be a whole number from 0 to 9, not "1.5"',
    ],
    ['a path', 'health', path('NAME', ABOUT, '/'), 'NAME must begin with "/", not "health"'],
    ['broken JSON', '{', json('NAME', ABOUT, 'object', {}), 'NAME must be a JSON object, not "{"'],
    ['JSON of another shape', '{}', json('NAME', ABOUT, 'list', []), 'NAME must be a JSON list, not "{}"'],
  ];
  for (const [name, value, variable, message] of wrong)
    it(`are refused with their name and what they may be: ${name}`, () =>
      expect(() => read(value, variable)).to.throw(EnvironmentError, message));

  it('are refused with the path of a file that cannot be read', () =>
    expect(() => parseEnvironment({}, (env) => env.requiredFile('/nowhere', names))).to.throw(
      EnvironmentError,
      "cannot read /nowhere (NAME): ENOENT: no such file or directory, open '/nowhere'",
    ));

  it('are refused together, each once', () => {
    const url = required(text('URL', ABOUT));
    const readAll = () =>
      parseEnvironment({ PORT: 'http' }, (env) => [
        env.read(url),
        env.read(url),
        env.read(port('PORT', ABOUT, 1)),
      ]);
    expect(readAll).to.throw(
      EnvironmentError,
      /^URL must be set\nPORT must be a port from 0 to 65535, not "http"$/,
    );
  });

  it('are read by a table, with its groups', () => {
    const table = { port: port('PORT', ABOUT, 80), files: { folder: text('FOLDER', ABOUT, '/tmp'), names } };
    const settings = parseEnvironment({ PORT: '81', NAME: 'a,b' }, (env) => env.readAll(table));
    expect(settings).to.deep.equal({ port: 81, files: { folder: '/tmp', names: ['a', 'b'] } });
  });
});
