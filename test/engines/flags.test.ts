/** Every flag that a preset gives its engine is one that the engine has: an upgrade that drops one fails here. */
import { spawnSync } from 'node:child_process';
import { delimiter } from 'node:path';
import { expect } from 'chai';
import { MODEL_FAMILIES } from '../../api/model-families.ts';
import { decideParsers } from '../../operator/engines/model-families.ts';
import { PRESETS } from '../../operator/engines/presets.ts';
import { build } from '../unit/operator/resources/fixtures.ts';
import { type EngineName, readEngine } from './catalog.ts';

const { name, engine } = readEngine();

const IMAGE = { image: { sizes: ['64x64'], tasks: ['txt2img'] } };
const VIDEO = { video: { resolutions: ['64x64'], tasks: ['t2v'] } };
/** With what a spec of the kind needs. */
const KINDS: Record<EngineName, [string, object?][]> = {
  vllm: [['LLM'], ['Embedding'], ['Rerank'], ['Transcription']],
  'llama-cpp': [['LLM'], ['Embedding'], ['Rerank']],
  'vllm-omni': [['Image', IMAGE], ['Video', VIDEO], ['Speech']],
  'sglang-diffusion': [
    ['Image', IMAGE],
    ['Video', VIDEO],
  ],
  sglang: [['LLM'], ['Embedding'], ['Rerank'], ['Transcription']],
};
const HUB = { huggingFace: { repo: 'org/model', revision: 'main' } };
const CLAIM = { pvc: { claimName: 'weights', path: 'model.gguf' } };
/** Of the specs of which a preset makes different commands. */
const SPECS = KINDS[name].flatMap(([kind, more]) =>
  [HUB, { huggingFace: { repo: 'org/model' } }, CLAIM].flatMap((source) =>
    [1, 2].map((count) => ({
      kind,
      model: { id: 'org/model', source },
      engine: { preset: name, ...(kind === 'LLM' && 'parsers' in engine ? { family: 'qwen3' } : {}) },
      gpu: { count },
      ...more,
    })),
  ),
);

describe(`the command of ${name}`, () => {
  const listFlags = (): string[] => {
    const all = SPECS.filter(
      ({ model: { source } }) =>
        !(name === 'llama-cpp' && 'huggingFace' in source && 'revision' in source.huggingFace),
    ).flatMap((spec) => build(spec).engine.args ?? []);
    return [...new Set(all.filter((word) => word.startsWith('-')).map((word) => word.split('=')[0]!))].sort();
  };

  it('has flags that the engine’s own help lists', function () {
    this.timeout(600_000);
    const [program, ...args] = engine.help;
    const path = `${engine.install()}${delimiter}${process.env.PATH}`;
    const { stdout, stderr } = spawnSync(program!, args, {
      encoding: 'utf8',
      env: { ...process.env, PATH: path },
    });
    // And those that it was asked with.
    const known = new Set(`${args.join(' ')} ${stdout}${stderr}`.match(/--?[a-z][\w-]*/g));
    expect(listFlags().filter((flag) => !known.has(flag))).to.deep.equal([]);
    expect(listFlags().length).to.be.greaterThan(4);
  });

  it('names parsers that the engine has, for every family of models', function () {
    if (!engine.parsers || (name !== 'vllm' && name !== 'sglang')) this.skip();
    const has = engine.parsers();
    const unknown = MODEL_FAMILIES.flatMap((family) =>
      Object.entries(decideParsers(name as 'vllm' | 'sglang', family))
        .filter(([kind, parser]) => !has[kind as 'tools' | 'reasoning'].has(parser))
        .map((parser) => [family, ...parser]),
    );
    expect(unknown).to.deep.equal([]);
  });

  it('is tried in the version that the preset’s image has', function () {
    if (!/^\d/.test(engine.version)) this.skip();
    expect(PRESETS[name].image('nvidia')).to.match(new RegExp(`:v${engine.version}$`));
  });
});
