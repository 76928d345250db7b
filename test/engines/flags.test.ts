/** Every flag that a preset gives its engine is one that the engine has: an upgrade that drops one fails here. */
import { spawnSync } from 'node:child_process';
import { delimiter } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
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
const CHAT_ENGINES = ['vllm', 'sglang'];
/** Of which a preset makes commands of their own. */
const PARTICULAR: object[] = CHAT_ENGINES.includes(name)
  ? [
      { scaling: { min: 0, max: 1, idle: 'Sleep' }, model: { id: 'org/model', source: HUB } },
      { kind: 'Rerank', ...repository('Qwen/Qwen3-Reranker-8B') },
      { kind: 'Rerank', ...repository('Qwen/Qwen3-VL-Reranker-8B') },
      // Families with a template of the image's.
      repository('deepseek-ai/DeepSeek-V3.1'),
      repository('Salesforce/xLAM-2-8b-fc-r'),
    ].map((spec) => ({ engine: { preset: name }, ...spec }))
  : [];

function repository(repo: string): object {
  return { model: { id: repo.toLowerCase(), source: { huggingFace: { repo } } } };
}

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
  /** With their values where these are in the same word. */
  const listWords = (): string[] => {
    const specs: object[] = SPECS.filter(
      ({ model: { source } }) =>
        !(name === 'llama-cpp' && 'huggingFace' in source && 'revision' in source.huggingFace),
    );
    const all = [...specs, ...PARTICULAR].flatMap((spec) => build(spec).engine.args ?? []);
    return [...new Set(all.filter((word) => word.startsWith('-')))].sort();
  };
  const nameOf = (word: string): string => word.split('=')[0]!;
  let help = '';
  before(function () {
    this.timeout(600_000);
    const [program, ...args] = engine.help;
    const path = `${engine.install()}${delimiter}${process.env.PATH}`;
    const { stdout, stderr } = spawnSync(program!, args, {
      encoding: 'utf8',
      env: { ...process.env, PATH: path },
    });
    // And those that it was asked with.
    help = stripVTControlCharacters(`${args.join(' ')}\n${stdout}${stderr}`);
  });

  it('has flags that the engine’s own help lists', () => {
    const known = new Set(help.match(/--?[a-z][\w-]*/g));
    const flags = listWords().map(nameOf);
    expect(flags.filter((flag) => !known.has(flag))).to.deep.equal([]);
    expect(new Set(flags).size).to.be.greaterThan(4);
    if (name === 'vllm')
      expect(flags).to.include.members(['--enable-sleep-mode', '--hf-overrides', '--chat-template']);
  });

  it('gives them values that are among those of the help, where it lists any', function () {
    const checked = listWords().flatMap((word) => {
      const [, allowed] =
        new RegExp(`^ *${nameOf(word)}(?![\\w-])[^\\n{]*\\{([^}]*)\\}`, 'm').exec(help) ?? [];
      const value = word.slice(nameOf(word).length + 1);
      return allowed && value ? [{ word, isKnown: allowed.split(/[\s,]+/).includes(value) }] : [];
    });
    if (checked.length === 0 && !CHAT_ENGINES.includes(name)) this.skip();
    expect(checked.filter(({ isKnown }) => !isKnown)).to.deep.equal([]);
    expect(checked.map(({ word }) => word)).to.include(
      name === 'vllm' ? '--scheduling-policy=priority' : '--attention-backend=triton',
    );
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
    expect(PRESETS[name].image('nvidia', 'LLM')).to.match(new RegExp(`:v${engine.version}$`));
  });
});
