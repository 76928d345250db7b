/** The engine supports every flag of its preset: an upgrade that drops one fails here. */
import { spawnSync } from 'node:child_process';
import { delimiter } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect } from 'chai';
import { MODEL_FAMILIES } from '../../api/model-families.ts';
import { decideParsers } from '../../operator/engines/model-families.ts';
import { readEngine } from './catalog.ts';
import { findUnknownWords, type HelpFlags, readHelpFlags, saveHelpFlags } from './help-flags.ts';
import { listCommandFlags } from './preset-commands.ts';
import { loadRegistries } from './registries.ts';

const { name, engine } = readEngine();

describe(`the command of ${name}`, () => {
  const words = listCommandFlags(name, /^\d/.test(engine.version) ? engine.version : undefined);
  let help: Omit<HelpFlags, 'version'>;
  before(function () {
    this.timeout(600_000);
    const [program, ...args] = engine.help;
    const path = `${engine.install()}${delimiter}${process.env.PATH}`;
    const { stdout, stderr } = spawnSync(program!, args, {
      encoding: 'utf8',
      env: { ...process.env, PATH: path },
    });
    // Including the flags of this command.
    const said = stripVTControlCharacters([...args, stdout, stderr].join('\n'));
    help = readHelpFlags(said);
    expect(help.flags.length, said.slice(-2_000)).to.be.greaterThan(20);
    saveHelpFlags(name, { version: engine.version, ...help });
  });

  it('has flags that the engine’s own help lists, with values that are among those that it lists', () => {
    expect(findUnknownWords(words, help)).to.deep.equal([]);
  });

  it('names parsers that the engine has, for every family of models', function () {
    if (!engine.parsers || (name !== 'vllm' && name !== 'sglang')) this.skip();
    const has = engine.parsers();
    const unknown = MODEL_FAMILIES.flatMap((family) =>
      Object.entries(decideParsers(name as 'vllm' | 'sglang', { family, version: engine.version }))
        .filter(([kind, parser]) => !has[kind as 'tools' | 'reasoning'].has(parser))
        .map((parser) => [family, ...parser]),
    );
    expect(unknown).to.deep.equal([]);
    const recorded = loadRegistries(name)[engine.version]!;
    for (const kind of ['tools', 'reasoning'] as const)
      expect(recorded[kind], 'run: python3 test/engines/record_registries.py').to.have.members([
        ...has[kind],
      ]);
  });

  it('is tried in a version whose flags are recorded', function () {
    if (!/^\d/.test(engine.version)) this.skip();
    expect(loadRegistries(name)).to.have.property(engine.version);
  });
});
