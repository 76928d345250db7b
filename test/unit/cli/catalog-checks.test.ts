import { expect } from 'chai';
import type { EnginePreset } from '../../../api/engine-presets.ts';
import { type ModelDeployment, modelDeployment } from '../../../api/model-deployment.ts';
import { parseQuantity } from '../../../api/quantity.ts';
import { CATALOG, catalogPath } from '../../../cli/deployment/catalog.ts';
import { readModelShape } from '../../../gateway/hub/model-shape.ts';
import { readManifests } from '../../../launch/manifests.ts';
import { readArgument } from '../../../operator/engines/arguments.ts';
import { readImageVersion } from '../../../operator/engines/engine-version.ts';
import { evaluateFit } from '../../../operator/fit/fit-verdict.ts';
import { findUnknownWords, loadHelpFlags } from '../../engines/help-flags.ts';
import { loadRegistries } from '../../engines/registries.ts';
import { QWEN3_8B } from '../operator/fit/model-configs.ts';
import { build } from '../operator/resources/fixtures.ts';

const GIB = 1024 ** 3;

interface Recorded {
  /** As the catalog names it. */
  engine: string;
  version: string;
  flags: string[];
  values: Record<string, string[]>;
  /** Those of tool calls and of reasoning. */
  parsers?: string[];
}

/** By the sources in the wheels of the version that the image has. */
function ofWheels(engine: string, names: string[], image: string): Recorded {
  const version = readImageVersion(image)!;
  const records = names.map((name) => loadRegistries(name)[version]!);
  return {
    engine,
    version,
    flags: records.flatMap(({ flags }) => flags),
    values: {},
    parsers: records.flatMap(({ tools, reasoning }) => [...tools, ...reasoning]),
  };
}

/** By its own help, of a version near the image's. */
function ofHelp(engine: string, name: string): Recorded {
  const { version, ...help } = loadHelpFlags(name)!;
  return { engine, version: version.replace('build ', ''), ...help };
}

const RECORDS: Partial<Record<EnginePreset, (image: string) => Recorded>> = {
  vllm: (image) => ofWheels('vLLM', ['vllm'], image),
  'vllm-omni': (image) => ofWheels('vLLM-Omni', ['vllm-omni', 'vllm'], image),
  'sglang-diffusion': (image) => ofWheels('SGLang', ['sglang-diffusion'], image),
  'llama-cpp': () => ofHelp('llama.cpp', 'llama-cpp'),
  tei: () => ofHelp('TEI', 'tei'),
};

const models: { file: string; flags: string | null; model: ModelDeployment }[] = CATALOG.map(
  ({ file, flags }) => {
    const [{ object } = { object: {} }] = readManifests([catalogPath(file)]);
    const placed = { ...object, metadata: { ...(object as ModelDeployment).metadata, uid: 'u' } };
    return { file, flags, model: modelDeployment.parse(placed) };
  },
);

describe('a manifest of the catalog', () => {
  for (const { file, flags, model } of models) {
    const record = RECORDS[model.spec.engine.preset];

    it(`${file} builds a pod whose flags ${flags ?? 'are none'}${flags ? ' knows, as the catalog says' : ''}`, () => {
      const { engine, problems } = build(model, { allowedHosts: [], allowedAnnotations: [] });
      expect(problems).to.deep.equal([]);
      const words = (engine.args ?? []).filter((word) => word.startsWith('-'));
      if (!record) {
        expect([flags, words]).to.deep.equal([null, []]);
        return;
      }
      const recorded = record(engine.image!);
      expect(flags, 'change it in cli/deployment/catalog.ts').to.equal(
        `${recorded.engine} ${recorded.version}`,
      );
      expect(words.length).to.be.greaterThan(3);
      expect(findUnknownWords(words, recorded)).to.deep.equal([]);
      for (const name of ['tool-call-parser', 'reasoning-parser']) {
        const parser = readArgument(engine.args!, name);
        if (parser) expect(recorded.parsers).to.include(parser);
      }
    });
  }

  it('gives a model that chats its parsers', () => {
    const { model } = models.find(({ file }) => file === 'vllm-llm.yaml')!;
    expect(build(model).engine.args).to.include.members([
      '--tool-call-parser=hermes',
      '--reasoning-parser=qwen3',
    ]);
  });
});

/** From the models' published config.json, and the sizes of their weights. */
const PUBLISHED: Record<string, { config: object; weightBytes: number }> = {
  'Qwen/Qwen3-8B': { config: QWEN3_8B, weightBytes: 16_381_470_720 },
  'Qwen/Qwen3-Embedding-0.6B': {
    config: {
      model_type: 'qwen3',
      hidden_size: 1_024,
      num_hidden_layers: 28,
      num_attention_heads: 16,
      num_key_value_heads: 8,
      head_dim: 128,
      max_position_embeddings: 32_768,
      torch_dtype: 'bfloat16',
    },
    weightBytes: 2 * 595_776_512,
  },
};
/** Tokens of context of models whose sizes no forecast needs. */
const CONTEXTS: Record<string, number> = { 'ggml-org/Qwen3-0.6B-GGUF:Q8_0': 40_960 };

const repoOf = ({ spec }: ModelDeployment): string => spec.model.source.huggingFace!.repo;
const fromHub = models.filter(({ model }) => model.spec.model.source.huggingFace);

describe('the models of the catalog, by what is published of them', () => {
  for (const { model } of fromHub) {
    const { id, source } = model.spec.model;
    it(`${id} is named as its repository ${source.huggingFace!.repo}`, () => {
      const [, ...named] = id.split('/');
      const words = named.join('/').toLowerCase().split('-');
      const repo = repoOf(model).toLowerCase().split('/')[1]!.split(/[-:]/);
      expect(words.filter((word) => !repo.includes(word))).to.deep.equal([]);
    });
  }

  it('have the context that their manifests ask for', () => {
    const asked = fromHub.flatMap(({ model }) => {
      const { args } = model.spec.engine;
      const whole = Number(readArgument(args, 'max-model-len') ?? readArgument(args, 'ctx-size'));
      const each = whole / Number(readArgument(args, 'parallel') ?? 1);
      return whole > 0 ? [{ repo: repoOf(model), each }] : [];
    });
    expect(asked.map(({ repo }) => repo)).to.include.members(['Qwen/Qwen3-8B', ...Object.keys(CONTEXTS)]);
    for (const { repo, each } of asked) {
      const most = CONTEXTS[repo] ?? readModelShape(PUBLISHED[repo]!.config)!.maxContext;
      expect(each, repo).to.be.at.most(most!);
    }
  });

  const judge = (repo: string, gib: number) => {
    const { model } = fromHub.find((each) => repoOf(each.model) === repo)!;
    const { config, weightBytes } = PUBLISHED[repo]!;
    const memory = { least: gib * GIB, most: gib * GIB };
    return evaluateFit(model.spec, { shape: readModelShape(config)!, weightBytes }, memory)!;
  };

  it('fit into the GPUs that their comments name, by the forecast', () => {
    expect(judge('Qwen/Qwen3-8B', 24)).to.include({ status: 'True', reason: 'Fits' });
    expect(judge('Qwen/Qwen3-8B', 20)).to.include({ status: 'False', reason: 'ContextTooLong' });
    expect(judge('Qwen/Qwen3-8B', 16)).to.include({ status: 'False', reason: 'WeightsTooLarge' });
    expect(judge('Qwen/Qwen3-Embedding-0.6B', 8)).to.include({ status: 'True', reason: 'Fits' });
  });

  it('have room for their weights in the caches', () => {
    for (const { model } of fromHub) {
      const { cache } = model.spec.model.source.huggingFace!;
      const published = PUBLISHED[repoOf(model)];
      if (cache && published)
        expect(parseQuantity(cache.size!), model.metadata.name).to.be.at.least(published.weightBytes);
    }
  });
});
