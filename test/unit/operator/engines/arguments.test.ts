import { expect } from 'chai';
import { joinArguments, readArgument } from '../../../../operator/engines/arguments.ts';

describe('the arguments of an engine', () => {
  const cases: [what: string, preset: string[], given: string[], joined: string[]][] = [
    ['both', ['--a=1'], ['--b=2'], ['--a=1', '--b=2']],
    ['a flag with a value', ['--a=1', '--b=2'], ['--a=3'], ['--b=2', '--a=3']],
    ['a flag whose value stands behind it', ['--a', '1', '--b', '2'], ['--a', '3'], ['--b', '2', '--a', '3']],
    ['a flag without a value', ['model', '--on', '--b=2'], ['--on'], ['model', '--b=2', '--on']],
    ['a flag that is turned off', ['--on', '--b=2'], ['--no-on'], ['--b=2', '--no-on']],
    ['a flag with underscores', ['--a-b=1'], ['--a_b=2'], ['--a_b=2']],
    ['words that are no flags', ['model', '--a=1'], ['model'], ['model', '--a=1', 'model']],
    ['short flags', ['-a', '1'], ['-a', '2'], ['-a', '1', '-a', '2']],
  ];
  for (const [what, preset, given, joined] of cases)
    it(`are joined: ${what}`, () => {
      expect(joinArguments(preset, given)).to.deep.equal(joined);
    });

  it('are read by their flag, the last of them', () => {
    expect(readArgument(['--a=1', '--a', '2', '--b'], 'a')).to.equal('2');
    expect(readArgument(['--a=b=c'], 'a')).to.equal('b=c');
    expect(readArgument(['--on'], 'on')).to.equal(undefined);
    expect(readArgument(['--b=1'], 'a')).to.equal(undefined);
  });
});
